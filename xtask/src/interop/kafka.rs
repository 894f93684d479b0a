//! Apache Kafka's packages, fetched by their names, and calls of the programs in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::command;

/// The release whose programs are run.
pub(super) const VERSION: &str = "4.1.0";

/// Where Kafka's classes are.
pub(super) struct Kafka {
    jars: PathBuf,
}

impl Kafka {
    /// What is said where there is none.
    pub(super) const MISSING: &str = "Java, Maven or Apache Kafka's packages cannot be had";

    /// Fetches the packages, unless they are there; `None` where this machine cannot.
    pub(super) fn fetch(scratch: &Path) -> Result<Option<Self>> {
        for tool in ["java", "mvn"] {
            if !command::succeeds(Command::new(tool).arg("-version")) {
                return Ok(None);
            }
        }
        let jars = scratch.join(format!("kafka-{VERSION}"));
        let done = jars.join("complete");
        if !done.exists() {
            fs::create_dir_all(&jars)?;
            let project = scratch.join("pom.xml");
            fs::write(&project, project_file())?;
            let mut fetch = Command::new("mvn");
            fetch
                .args(["-q", "-B", "-f"])
                .arg(&project)
                .arg("dependency:copy-dependencies")
                .arg(format!("-DoutputDirectory={}", jars.display()));
            if command::run(&mut fetch).is_err() {
                return Ok(None);
            }
            fs::write(done, "")?;
        }
        Ok(Some(Self { jars }))
    }

    /// A call of one of Kafka's programs.
    pub(super) fn program(&self, class: &str) -> Command {
        let mut java = Command::new("java");
        java.args(["-Xmx256m", "-cp"])
            .arg(self.jars.join("*"))
            .arg(class);
        java
    }

    /// A call of a program in one file of source.
    pub(super) fn source(&self, file: &Path) -> Command {
        let mut java = Command::new("java");
        java.arg("-cp").arg(self.jars.join("*")).arg(file);
        java
    }
}

fn project_file() -> String {
    let dependency = |artifact: &str| {
        format!(
            "<dependency><groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId>\
             <version>{VERSION}</version></dependency>"
        )
    };
    format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>klamm</groupId>\
         <artifactId>interop</artifactId><version>1</version><dependencies>{}{}</dependencies>\
         </project>\n",
        dependency("kafka_2.13"),
        dependency("kafka-tools"),
    )
}
