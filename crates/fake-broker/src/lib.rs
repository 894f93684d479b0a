//! For tests: a broker that follows a script.
