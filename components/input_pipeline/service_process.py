"""A dispatcher or a worker of the data service, as a process that its parent ends.

It prints the port on which it listens.
"""

import argparse
import os


def main() -> None:
    """Runs until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=("dispatcher", "worker"))
    parser.add_argument("--dispatcher", default="")
    arguments = parser.parse_args()
    # The accelerators are the trainer's.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    # Imported here, after the accelerators were hidden.
    from components.input_pipeline import service

    server = (
        service.run_dispatcher(0)
        if arguments.role == "dispatcher"
        else service.run_worker(arguments.dispatcher, port=0, host="localhost")
    )
    print(service.port_of(server), flush=True)
    server.join()


if __name__ == "__main__":
    main()
