from serving.server import metrics


def make_metrics(*micros):
    counters = metrics.Metrics()
    for value in micros:
        counters.request_done(
            model_name='a"b', api="Predict", entrypoint="REST", status="OK", micros=value
        )
    return counters


def test_buckets_are_cumulative_and_end_with_all():
    lines = make_metrics(5.0, 15.0, 1e12).to_prometheus().splitlines()
    buckets = [line.rpartition(" ")[2] for line in lines if "_bucket" in line]
    assert buckets[:3] == ["1", "2", "2"]
    assert buckets[-1] == "3"
    assert 'le="+Inf"' in next(line for line in reversed(lines) if "_bucket" in line)


def test_sum_and_count_are_given():
    text = make_metrics(5.0, 15.0).to_prometheus()
    assert '_sum{API="Predict",entrypoint="REST",model_name="a\\"b",status="OK"} 20' in text
    assert '_count{API="Predict",entrypoint="REST",model_name="a\\"b",status="OK"} 2' in text


def test_totals_are_of_one_model():
    assert make_metrics(5.0, 15.0).totals('a"b') == (2, 20.0)
    assert make_metrics(5.0).totals("other") == (0, 0.0)


def test_nothing_counted_is_an_empty_page():
    assert metrics.Metrics().to_prometheus() == ""
