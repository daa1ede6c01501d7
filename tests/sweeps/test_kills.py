"""Fifty kills at random moments of a sweep, and the store is that of a sweep nobody touched, bit for bit."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

KILLS = 50
# Enough for a few seconds of training: eight groups of one run with a checkpoint every ten updates.
FILE = """
title = "kills"
seeds = 2
lrs = [0.125, 0.25, 0.5, 1.0]
[network]
kind = "mlp"
width = 16
batch = 32
eval_points = 200
steps = 1200
eval_every = 100
checkpoint_every = 10
[[curves]]
depth = [2, 3, 4]
"""
# Read once what takes long; each sweep is then a fork of it, and begins within milliseconds.
SERVER = """
import os, sys
import torch, filelock, sklearn.datasets
from lrtransfer import cli
import lrtransfer.residual.networks.task
from lrtransfer.images.catalogue import load
load("digits")
torch.set_num_threads(1)
arguments = sys.argv[1:]
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(line.strip(), os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
        os._exit(cli.main(arguments))
    print(child, flush=True)
    _, status = os.waitpid(child, 0)
    print(status, flush=True)
"""
DECIDES = "key, kind, settings, lr, seed, precision, curve, final, device"


def rows(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return db.execute(f"SELECT {DECIDES} FROM runs ORDER BY key").fetchall()


class Sweeps:
    """Starts sweeps into one store, and kills them."""

    def __init__(self, folder: Path, store: Path) -> None:
        file = folder / "kills.toml"
        file.write_text(FILE)
        command = [sys.executable, "-c", SERVER, "sweep", str(file), "--device", "cpu", "--store", str(store)]
        self.said = folder / f"{store.name}.said"
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self) -> int:
        assert self.server.stdout is not None
        return int(self.server.stdout.readline())

    def start(self) -> int:
        assert self.server.stdin is not None
        self.server.stdin.write(f"{self.said}\n")
        self.server.stdin.flush()
        return self.read()

    def close(self) -> None:
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.close()
        self.server.stdout.close()
        self.server.wait(60)


@pytest.mark.slow
def test_fifty_random_kills_change_no_bit_of_a_store(tmp_path):
    whole, killed = tmp_path / "whole.sqlite", tmp_path / "killed.sqlite"
    sweeps = Sweeps(tmp_path, whole)
    sweeps.start()
    begun = time.monotonic()
    assert sweeps.read() == 0
    takes = time.monotonic() - begun
    sweeps.close()
    expected = rows(whole)
    assert len(expected) == 24

    sweeps, chance, hits = Sweeps(tmp_path, killed), random.Random(17), 0
    for kill in range(KILLS):
        process = sweeps.start()
        # The first ones within the birth of the store, the others anywhere in a piece of the sweep.
        time.sleep(chance.uniform(0, 0.02 if kill < 15 else 2 * takes / KILLS))
        os.kill(process, signal.SIGKILL)
        status = sweeps.read()
        assert status in (0, signal.SIGKILL), sweeps.said.read_text()
        hits += status == signal.SIGKILL
    assert hits >= KILLS // 2  # the others came too late: it was done
    sweeps.start()
    assert sweeps.read() == 0, sweeps.said.read_text()
    sweeps.close()
    assert rows(killed) == expected
    assert not Path(f"{killed}.checkpoints").exists()
