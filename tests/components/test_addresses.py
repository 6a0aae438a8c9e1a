"""Why a store cannot be reached, in one line."""

import pytest

from components import addresses

# Beginnings of what pyarrow said of a store of each kind.
_NO_JAVA = (
    "Unable to load libjvm\ndlopen(/usr/lib/jvm/default-java/libjvm.so) failed: no such file\n"
    "dlopen(/usr/java/latest/libjvm.so) failed: no such file"
)
_NO_CREDENTIALS = (
    "google::cloud::Status(PERMISSION_DENIED: no access\n error_info={reason=, domain=gcloud-cpp})"
)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            _NO_JAVA,
            "Expected to list a, but: Unable to load libjvm. Install Java and Hadoop, and set "
            "JAVA_HOME and HADOOP_HOME to their folders.",
        ),
        (
            _NO_CREDENTIALS,
            "Expected to list a, but: PERMISSION_DENIED: no access. Check the name, the network "
            "and the credentials that the environment gives.",
        ),
        (
            "Timed out.",
            "Expected to list a, but: Timed out. Check the name, the network and the credentials "
            "that the environment gives.",
        ),
    ],
)
def test_what_a_store_said_is_told_without_its_appendix(error, sentence):
    assert str(addresses.unreachable("to list a", OSError(error))) == sentence
