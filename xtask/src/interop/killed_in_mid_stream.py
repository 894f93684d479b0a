"""Produces numbered records until standard input ends; then reads all and judges.

Every acknowledged record must be at the offset that its acknowledgement named, the numbers of a
partition must rise, and no number may be there twice.
"""

import sys
import threading

import confluent_kafka
from confluent_kafka import Consumer, Producer, TopicPartition

address = sys.argv[1]
topic = "killed"
partitions = 3
acknowledged = {}
failures = []
stopping = threading.Event()


def wait_for_end():
    sys.stdin.read()
    stopping.set()


def on_delivery(error, message):
    if error is not None:
        failures.append(str(error))
    else:
        acknowledged[int(message.value().split()[0])] = (message.partition(), message.offset())


threading.Thread(target=wait_for_end, daemon=True).start()
producer = Producer(
    {
        "bootstrap.servers": address,
        "enable.idempotence": True,
        "linger.ms": 2,
        "delivery.timeout.ms": 120000,
        "reconnect.backoff.max.ms": 500,
    }
)
number = 0
while not stopping.is_set():
    try:
        value = b"%d %s" % (number, b"x" * (number % 300))
        producer.produce(topic, value, partition=number % partitions, on_delivery=on_delivery)
        number += 1
        producer.poll(0)
        if number % 200 == 0:
            stopping.wait(0.005)
    except BufferError:
        producer.poll(0.1)
left = producer.flush(120)
if left or failures:
    sys.exit(f"{left} records without an answer, {len(failures)} failed: {failures[:3]}")

consumer = Consumer(
    {
        "bootstrap.servers": address,
        "group.id": "none",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
    }
)
found = {}
for partition in range(partitions):
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
    if low != 0:
        sys.exit(f"partition {partition} begins at {low}")
    consumer.assign([TopicPartition(topic, partition, 0)])
    last, expected = -1, 0
    while expected < high:
        message = consumer.poll(30)
        if message is None:
            sys.exit(f"partition {partition}: nothing at {expected} of {high}")
        if message.error():
            sys.exit(f"partition {partition}: {message.error()}")
        read = int(message.value().split()[0])
        if message.offset() != expected:
            sys.exit(f"partition {partition}: offset {message.offset()} where {expected} was due")
        if read <= last:
            sys.exit(f"partition {partition}: number {read} after {last}")
        found[read] = (partition, message.offset())
        last, expected = read, expected + 1
missing = [it for it, place in acknowledged.items() if found.get(it) != place]
if missing:
    first = missing[0]
    sys.exit(f"{len(missing)} not at their place, {first}: {acknowledged[first]} {found.get(first)}")
print(
    f"librdkafka {confluent_kafka.libversion()[0]}: {len(acknowledged)} acknowledged, "
    f"{len(found)} found, each once and in order"
)
