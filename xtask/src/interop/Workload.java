import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Has a real broker write what the tests of klamm-log open: several segments, all codecs, committed,
 * aborted and open transactions, a compacted topic.
 *
 * <p>Arguments: the broker's address, and which life of the broker it is, 1 or 2. In its second life
 * a broker only appends, in a new leader epoch.
 */
public class Workload {
    static final long BEGIN_MS = 1_700_000_000_000L;

    final String address;

    Workload(String address) {
        this.address = address;
    }

    public static void main(String[] arguments) throws Exception {
        Workload workload = new Workload(arguments[0]);
        int life = Integer.parseInt(arguments[1]);
        if (life == 1) {
            workload.createTopics();
        }
        workload.plain(life);
        workload.codecs(life);
        workload.compacted(life);
        workload.transactions(life);
        // Without closing the producers: what they have open stays so.
        Runtime.getRuntime().halt(0);
    }

    void createTopics() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            admin.createTopics(List.of(
                    topic("plain", Map.of("segment.ms", "1000")),
                    topic("codecs", Map.of()),
                    topic("transactions", Map.of("segment.ms", "1000")),
                    topic("compacted", Map.of(
                            "segment.ms", "1000",
                            "cleanup.policy", "compact",
                            "min.cleanable.dirty.ratio", "0.01")))).all().get();
        }
    }

    /** A topic of one partition, whose indexes are small where the broker leaves them at full size. */
    static NewTopic topic(String name, Map<String, String> settings) {
        Map<String, String> all = new HashMap<>(settings);
        all.put("segment.index.bytes", "1024");
        all.put("index.interval.bytes", "512");
        all.put("retention.ms", "-1");
        return new NewTopic(name, Optional.of(1), Optional.of((short) 1)).configs(all);
    }

    KafkaProducer<String, String> producer(Map<String, String> settings) {
        Properties all = new Properties();
        all.put("bootstrap.servers", address);
        all.put("linger.ms", "100");
        all.putAll(settings);
        return new KafkaProducer<>(all, new StringSerializer(), new StringSerializer());
    }

    static ProducerRecord<String, String> record(String topic, long timestamp, String key, String value) {
        return new ProducerRecord<>(topic, 0, BEGIN_MS + timestamp, key, value);
    }

    /** Batches of ten records; three batches fit into the time of a segment. */
    void plain(int life) {
        KafkaProducer<String, String> producer = producer(Map.of());
        int first = (life - 1) * 200;
        int end = life == 1 ? 200 : 250;
        for (int index = first; index < end; index++) {
            producer.send(record("plain", index * 40L, "key-" + index, "value-" + index));
            if (index % 10 == 9) {
                producer.flush();
            }
        }
        producer.flush();
    }

    /** Each codec, with headers, without keys, and without values. */
    void codecs(int life) {
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            KafkaProducer<String, String> producer = producer(Map.of("compression.type", codec));
            for (int index = 0; index < 20; index++) {
                String key = index % 3 == 0 ? null : codec + "-" + index;
                String value = index % 5 == 0 ? null : codec.repeat(10) + index;
                List<Header> headers = List.of(new RecordHeader("life", Integer.toString(life).getBytes()));
                producer.send(new ProducerRecord<>("codecs", 0, BEGIN_MS + index, key, value, headers));
            }
            producer.flush();
        }
    }

    /** Five keys, each written in many segments; one is deleted in the end. */
    void compacted(int life) throws InterruptedException {
        KafkaProducer<String, String> producer = producer(Map.of());
        int first = (life - 1) * 20;
        for (int round = first; round < first + 20; round++) {
            for (int key = 0; key < 5; key++) {
                String value = key == 4 && round >= 10 ? null : "round-" + round;
                producer.send(record("compacted", round * 300L, "key-" + key, value));
            }
            producer.flush();
        }
        // The cleaner looks every second.
        Thread.sleep(5000);
    }

    /** Three that are committed, two that are aborted, and in the end one that stays open. */
    void transactions(int life) {
        if (life > 1) {
            // Whoever comes with the same id ends what the one before has left open.
            transactional((life - 1) + "-open").close(Duration.ofSeconds(5));
        }
        for (int index = 0; index < 5; index++) {
            KafkaProducer<String, String> producer = transactional(life + "-" + index);
            producer.beginTransaction();
            send(producer, life, index);
            if (index % 2 == 0) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
            producer.close(Duration.ofSeconds(5));
        }
        KafkaProducer<String, String> open = transactional(life + "-open");
        open.beginTransaction();
        send(open, life, 5);
    }

    KafkaProducer<String, String> transactional(String id) {
        KafkaProducer<String, String> producer = producer(Map.of("transactional.id", id));
        producer.initTransactions();
        return producer;
    }

    static void send(KafkaProducer<String, String> producer, int life, int index) {
        for (int record = 0; record < 5; record++) {
            long timestamp = (life * 10 + index) * 700L;
            producer.send(record("transactions", timestamp, "transaction-" + index, "record-" + record));
        }
        producer.flush();
    }
}
