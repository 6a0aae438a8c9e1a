import pytest
from google.protobuf import struct_pb2, text_format

from serving.deploy import text_proto


def test_texts_with_quotes_and_line_breaks_are_read_back():
    text = 'a "quoted" \\ back\nline\tend\x7f'
    message = text_format.Parse(text_proto.dumps({"string_value": text}), struct_pb2.Value())
    assert message.string_value == text


def test_lists_of_messages_are_repeated_fields():
    values = [{"string_value": "a"}, {"bool_value": True}]
    message = text_format.Parse(text_proto.dumps({"values": values}), struct_pb2.ListValue())
    assert [value.WhichOneof("kind") for value in message.values] == ["string_value", "bool_value"]


def test_text_that_is_not_ascii_is_refused():
    with pytest.raises(ValueError, match="must be ASCII. Received: 'größe'"):
        text_proto.dumps({"name": "größe"})
