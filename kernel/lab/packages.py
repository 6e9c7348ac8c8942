"""Fetch packages of Debian's archive through apt, with our own configuration; installs none, only reads the
machine's.

The mirror is the one that the machine already uses; its other suites are added in our configuration. Signatures are
checked by apt with the machine's own keys.
"""

from __future__ import annotations

import functools
import re
import subprocess
import tarfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from kernel.lab import cache
from kernel.lab.errors import LabError
from kernel.lab.work import Work

# Other suites of a Debian mirror, by names that move on with each release.
SUITES = (
    "oldoldstable",
    "oldstable",
    "stable",
    "oldstable-backports",
    "stable-backports",
    "testing",
    "unstable",
    "experimental",
)
_KEYRINGS = ("/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp")
_LIST_LIFETIME = 12 * 3600.0  # seconds for which lists count as new
_NO_MIRROR = "boot an image of your own (-t lab:/PATH/bzImage), or add a Debian mirror to the machine's apt sources"


class Package(NamedTuple):
    """Version of a package."""

    name: str
    version: str


class Mirror(NamedTuple):
    """Debian mirror of the machine."""

    uri: str
    release: str
    """The machine's own release, such as `bookworm`."""
    suite: str
    """Present suite of that release: `stable`, `oldstable`; empty if the machine has no lists yet."""


class _Download(NamedTuple):
    uri: str
    name: str
    size: int


def find_mirror(targets: str) -> Mirror | None:
    """Find the Debian mirror in lines `ORIGIN|REPO_URI|RELEASE|SUITE|COMPONENT|CREATED_BY` of `apt-get indextargets`.

    Origin and suite are empty (or left as `$(ORIGIN)`) on a machine that has not fetched its lists.
    """
    candidates: list[tuple[int, Mirror]] = []
    for line in targets.splitlines():
        origin, uri, release, suite, component, created_by = line.split("|")
        origin, suite = ("" if field.startswith("$(") else field for field in (origin, suite))
        if created_by != "Packages" or component != "main" or origin not in ("Debian", ""):
            continue
        if "-" in release or "/" in release or (not origin and "debian" not in uri):
            continue  # bookworm-updates, bookworm-security: parts of a release
        candidates.append((0 if origin else 1, Mirror(uri, release, suite)))
    return min(candidates, key=lambda pair: pair[0])[1] if candidates else None


class Apt:
    """Packages of one architecture (Debian's name for it) from all suites of the machine's mirror."""

    def __init__(self, work: Work, arch: str) -> None:
        self._work = work
        self.arch = arch
        self._folder = cache.root() / "apt" / arch
        self._debs = cache.root() / "debs" / arch
        self._release = ""

    def _options(self) -> list[str]:
        folder = self._folder
        options = {
            "Dir::Etc::SourceList": folder / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::Etc::Preferences": "/dev/null",
            "Dir::Etc::PreferencesParts": "/dev/null",
            "Dir::State": folder,
            "Dir::State::Lists": folder / "lists",
            "Dir::State::status": "/dev/null",  # as if no package were installed: dependencies are listed completely
            "Dir::Cache": folder / "cache",
            "Dir::Cache::pkgcache": "pkgcache.bin",
            "Dir::Cache::srcpkgcache": "",
            "APT::Architecture": self.arch,
            "APT::Architectures": self.arch,
            "APT::Default-Release": self._release,
            "APT::Install-Recommends": "false",
            "APT::Get::Show-User-Simulation-Note": "false",
            "APT::Update::Post-Invoke-Success": "",
            "APT::Sandbox::User": "root",  # apt's own user could not write into our folder
            "Acquire::Languages": "none",
        }
        hooks = ["-o#clear=APT::Update::Post-Invoke-Success", "-o#clear=APT::Update::Post-Invoke"]
        return [*(f"-o{name}={value}" for name, value in options.items()), *hooks]

    def _run(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        remedy = "look at the message of apt; with the mirror out of reach boot your own image: -t lab:/PATH/bzImage"
        return self._work.run([program, *self._options(), *arguments], cwd=cwd, remedy=remedy).decode(
            errors="replace"
        )

    def update(self) -> None:
        """Fetch the lists of all suites if ours are older than half a day. Raises LabError without a mirror."""
        stamp = self._folder / "lists.stamp"
        mirror = self._mirror()
        if stamp.exists() and time.time() - stamp.stat().st_mtime < _LIST_LIFETIME:
            self._release = self._main_release(mirror)
            return
        self._work.say(f"fetching Debian's package lists ({self.arch})")
        for name in ("lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        keyring = next((path for path in _KEYRINGS if Path(path).exists()), "")
        signed = f"[signed-by={keyring}] " if keyring else ""
        suites = dict.fromkeys((mirror.release, *(suite for suite in SUITES if suite != mirror.suite)))
        lines = [f"deb {signed}{mirror.uri} {suite} main\n" for suite in suites]
        (self._folder / "sources.list").write_text("".join(lines))
        # A suite that the mirror lacks makes apt fail after it fetched all the others; `names` shows whether it did.
        self._work.run(["apt-get", *self._options(), "--allow-releaseinfo-change", "update"], check=False)
        if not self.names("base-files"):
            remedy = "see whether the mirror can be reached: apt-get update"
            raise LabError(f"no package lists could be fetched from {mirror.uri}", remedy)
        self._release = self._main_release(mirror)
        stamp.touch()

    def _main_release(self, mirror: Mirror) -> str:
        """Return the machine's release, or the stable one where the machine's is older than the architecture."""
        lists = (self._folder / "lists").glob(f"*_{mirror.release}_main_binary-{self.arch}_Packages*")
        return mirror.release if any(lists) else "stable"

    def _mirror(self) -> Mirror:
        keys = ("ORIGIN", "REPO_URI", "RELEASE", "SUITE", "COMPONENT", "CREATED_BY")
        form = "|".join(f"$({key})" for key in keys)
        mirror = find_mirror(self._work.run(["apt-get", "indextargets", "--format", form]).decode())
        if mirror is None:
            raise LabError("this machine's apt has no Debian mirror", _NO_MIRROR)
        return mirror

    def names(self, prefix: str) -> list[str]:
        """Return all package names with a prefix."""
        return self._run("apt-cache", "pkgnames", prefix).split()

    def versions(self, names: Sequence[str]) -> list[Package]:
        """Return all available versions of these packages, unordered; names without any are left out."""
        if not names:
            return []
        lines = self._run("apt-cache", "madison", *names).splitlines()
        fields = [[field.strip() for field in line.split("|")] for line in lines]
        return [Package(name, version) for name, version, source in fields if source.endswith("Packages")]

    def closure(self, names: Sequence[str]) -> list[Package]:
        """Return these packages in the version of the machine's release, with all their dependencies."""
        lines = self._run("apt-get", "--simulate", "install", *names).splitlines()
        matches = (re.match(r"Inst (\S+) \((\S+)", line) for line in lines)
        return [Package(match[1], match[2]) for match in matches if match]

    def depends(self, name: str) -> list[str]:
        """Return the direct dependencies of a package."""
        text = self._run("apt-cache", "depends", "--no-recommends", "--no-suggests", name)
        return re.findall(r"^ *\|?(?:Pre)?Depends: (\S+)$", text, re.MULTILINE)

    def fetch(self, packages: Sequence[Package], description: str) -> list[Path]:
        """Download packages; return their paths, for `contents`. The caller removes the files."""
        self._debs.mkdir(parents=True, exist_ok=True)
        wanted = [f"{name}={version}" for name, version in packages]
        downloads = list(_downloads(self._run("apt-get", "download", "--print-uris", *wanted)))
        total = sum(download.size for download in downloads) or 1
        paths = [self._debs / download.name for download in downloads]

        def tick() -> None:
            fetched = sum(path.stat().st_size for path in paths if path.exists())
            self._work.say(f"fetching {description} ({total / 1e6:.0f} MB)", min(fetched / total, 1.0))

        tick()
        argv = ["apt-get", *self._options(), "download", *wanted]
        self._work.run(argv, cwd=self._debs, tick=tick, remedy="the mirror may be out of reach; try again")
        return paths


def _downloads(text: str) -> Iterator[_Download]:
    for line in text.splitlines():
        match = re.match(r"'(\S+)' (\S+) (\d{1,15}) ", line)
        if match:
            yield _Download(match[1], match[2], int(match[3]))


@functools.cache
def newer(version: str, other: str) -> bool:
    """Return whether a version is higher than another by Debian's rules."""
    return subprocess.run(["dpkg", "--compare-versions", version, "gt", other], check=False).returncode == 0


def nearest(series: Iterable[tuple[int, int]], wanted: tuple[int, int]) -> tuple[int, int] | None:
    """Return the wanted series or its substitute, the next newer one; None if there is none."""
    return next((candidate for candidate in sorted(series) if candidate >= wanted), None)


def remove(paths: Iterable[Path]) -> None:
    """Delete used packages, so that the cache keeps only what is made of them."""
    for path in paths:
        path.unlink(missing_ok=True)


class PackageFile(NamedTuple):
    """File of a package."""

    info: tarfile.TarInfo
    path: str
    """Path without a leading slash; `lib`, `bin`, `sbin` and `lib64` are under `usr` as in Debian 13."""
    file: IO[bytes] | None
    """Content, readable until the next iteration; None for anything but a regular file."""


def contents(work: Work, package: Path) -> Iterator[PackageFile]:
    """Yield all files of a package, read in one pass without unpacking it. Raises LabError for a file that is no
    package.
    """
    tar_path = package.with_suffix(".tar")
    try:
        with tar_path.open("wb") as out:
            out.write(work.run(["dpkg-deb", "--fsys-tarfile", str(package)]))
        with tarfile.open(tar_path) as tar:
            for info in tar:
                path = re.sub(r"^(?=(lib|bin|sbin|lib64|lib32|libx32)/)", "usr/", info.name.removeprefix("./"))
                yield PackageFile(info, path, tar.extractfile(info) if info.isreg() else None)
    finally:
        tar_path.unlink(missing_ok=True)
