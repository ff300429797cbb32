"""What is said about a comparison, in every form it takes: columns, notes, method."""

from dataclasses import dataclass

from dfloader.comparison import Comparison, Machine, Result

_BUSY_CORES = 0.15  # of other programs, from which on the figures are called into question


@dataclass(frozen=True)
class Column:
    """A measure as it is shown.

    Attributes:
        measure: its name in `Round`.
        head: its name to people.
        unit: likewise.
        form: how a number is written.
        short: head and unit where there is little room; empty: left out there.
        more_is_better: whether the largest is the best.
        factor: from the measure to the unit.
    """

    measure: str
    head: str
    unit: str
    form: str
    short: str = ""
    more_is_better: bool = False
    factor: float = 1.0

    def written(self, value: float) -> str:
        """Write a value of the measure."""
        return self.form.format(value * self.factor)


COLUMNS = (
    Column(
        "wall_images_per_second", "whole epoch", "images/s", "{:,.0f}", "images/s",
        more_is_better=True,
    ),
    Column(
        "images_per_second", "to last batch", "images/s", "{:,.0f}", more_is_better=True
    ),
    Column("first_batch_seconds", "first batch", "s", "{:.2f}", "first,\ns"),
    Column("cpu_ms_per_image", "CPU an image", "ms", "{:.2f}", "CPU,\nms"),
    Column("peak_mb", "peak memory", "MB", "{:,.0f}", "peak,\nMB"),
    Column("wait_share", "a step waits", "%", "{:.0f}", "waits,\n%", factor=100),
    Column(
        "trained_images_per_second", "in training", "images/s", "{:,.0f}", more_is_better=True
    ),
)  # fmt: skip

METHOD = (
    "Each loader ran in a fresh process every round, and rounds took turns. The first pass of a "
    "process warms up and is not timed, so files come from the system's cache. Figures are "
    "medians of the rounds; beside them stand the lowest and the highest. A whole epoch ends when "
    "its iterator is gone. CPU and memory are those of the process and its workers together. "
    "Loaders whose spreads overlap are not ranked."
)


def shown_columns(comparison: Comparison) -> list[Column]:
    """Give the columns that were measured."""
    results = comparison.results
    return [c for c in COLUMNS if any(each.median(c.measure) is not None for each in results)]


def middle(result: Result, column: Column) -> str:
    """Write a loader's median."""
    value = result.median(column.measure)
    return "-" if value is None else column.written(value)


def spread(result: Result, column: Column) -> str:
    """Write a loader's lowest and highest round; nothing where they read the same."""
    values = result.spread(column.measure)
    low, high = ("", "") if values is None else map(column.written, values)
    return "" if low == high else f"{low}-{high}"


def place_in_words(place: tuple[int, int] | None) -> str:
    """Write a place, or the places that overlaps leave open."""
    if place is None:
        return "-"
    return str(place[0]) if place[0] == place[1] else f"{place[0]}-{place[1]}"


def notes(comparison: Comparison) -> list[str]:
    """Give what is to be said below the table, a line each."""
    lines = [comparison.verdict()]
    lines += [f"Proof: {proof_in_words(comparison)}"] if comparison.proof else []
    lines += [f"Work: {work_in_words(comparison)}", *machine_in_words(comparison)]
    lines += [f"{each.name}: {each.note}." for each in comparison.ranked() if each.note]
    lines += [f"Left out: {each.name}: {each.reason}." for each in comparison.left_out]
    lines += [f"Advice: {comparison.advice}"] if comparison.advice else []
    return lines


def proof_in_words(comparison: Comparison) -> str:
    """Say what was proved."""
    proof = comparison.proof
    assert proof is not None
    if not proof.loaders:
        return "only one loader of this package took part, so there was nothing to compare."
    return (
        f"the sequence in the calling thread and {', '.join(proof.loaders)} gave equal batches "
        f"({proof.rows} rows; labels equal, pixels within {proof.difference:.3g} of 255)."
    )


def work_in_words(comparison: Comparison) -> str:
    """Say what every loader did."""
    work = comparison.work
    spec = ", ".join(f"{name}={value}" for name, value in work.spec.items())
    model = f", trained with {work.model}" if work.model else ""
    return (
        f"{work.frame}, {work.rows:,} rows; a pass reads {work.rows_a_pass:,} images in batches "
        f"of {work.batch_size}{model}; {spec}."
    )


def machine_in_words(comparison: Comparison) -> list[str]:
    """Say where it ran, and what else ran there."""
    machine = comparison.machine
    lines = [f"Machine: {_hardware(machine)}. {_versions(machine)}."]
    others = [v for each in comparison.results for v in each.values("other_cores")]
    busy = f" Other programs kept {sum(others) / len(others):.2f} cores busy." if others else ""
    if machine.load_before is not None and machine.load_after is not None:
        lines.append(
            f"Load average {machine.load_before:.1f} before, {machine.load_after:.1f} after." + busy
        )
    if others and max(others) > _BUSY_CORES:
        lines.append("The machine was not idle: expect other figures when it is.")
    return lines


def _hardware(machine: Machine) -> str:
    cores = f"{machine.cores} core{'s' if machine.cores > 1 else ''} allowed"
    memory = f", {machine.memory_gb:.0f} GB" if machine.memory_gb else ""
    return f"{machine.processor}, {cores}{memory}, {machine.system}"


def _versions(machine: Machine) -> str:
    return ", ".join(f"{name} {version}" for name, version in machine.versions.items())
