"""Builds an artifact as its recipe says, from published Go modules and jars (pinned, checked) and Debian's packages."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from avadm.artifacts import golang, images, maven, npm, patching, tarball
from avadm.artifacts import recipe as r
from avadm.artifacts.commands import NOT_FOUND, Commands, CompletedCommand
from avadm.artifacts.golang import no_program
from avadm.artifacts.manifest import Artifact
from avadm.artifacts.python_steps import PythonSteps
from avadm.errors import AvadmError
from avadm.quantity import quantity

# No one reads manuals in a container, and the package lists are old by then.
SLIM = (
    '--aptopt=Acquire::Languages "none"',
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    '--customize-hook=rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/*',
)


@dataclass(frozen=True, slots=True)
class Builder:
    """Carries out a recipe.

    Attributes:
        artifact: what is built.
        commands: runs programs.
        work: an empty folder to work in.
        out: folder for the finished files.
        log: file for everything that programs say.
        tell: called with what is being done.
        others: artifact to its folder in the cache, of those that this one needs.
        environment: variables of all programs, such as those of a proxy.
    """

    artifact: Artifact
    commands: Commands
    work: Path
    out: Path
    log: Path
    tell: Callable[[str], None]
    others: Mapping[str, Path] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def build(self) -> str:
        """Carry out all steps and return the Go release that was used ("" for none).

        Raises:
            AvadmError: a step failed; the finding names it and its last output.
        """
        recipe = r.load(self.artifact.folder)
        env = golang.environment(recipe.toolchain)
        if recipe.toolchain:
            self._toolchain(recipe.toolchain, env)
        shutil.copytree(
            self.artifact.folder, self.work, dirs_exist_ok=True, ignore=_only("go.mod", "go.sum", "*.go")
        )
        for step in recipe.steps:
            self._step(step.action, env)
        return recipe.toolchain

    def _toolchain(self, wanted: str, env: Mapping[str, str]) -> None:
        """Make sure that Go is there, and of the release that the recipe names."""
        done = self._run("ask Go's release", ("go", "env", "GOVERSION"), self.log.parent, env)
        if (found := done.stdout.strip()) != wanted:
            raise AvadmError(no_program("go", found or " ".join(done.stderr_lines)))

    def _step(self, action: object, env: Mapping[str, str]) -> None:
        match action:
            case r.Module():
                self._module(action, env)
            case r.GoMod():
                for folder in self._matching(action.folders):
                    _write(folder / "go.mod", f"module {action.prefix}/{folder.name}\n")
            case r.Remove():
                for path in self._matching(action.files):
                    path.unlink()
            case r.Overlay():
                shutil.copytree(
                    self.artifact.folder / action.source, self.work / action.to, dirs_exist_ok=True
                )
            case r.Replace():
                self._replace(action)
            case r.Patch():
                self._patch(action)
            case r.Append():
                path = self.work / action.file
                path.write_text(path.read_text(encoding="utf-8") + action.text, encoding="utf-8")
            case r.Mode():
                for path in self._matching(action.files):
                    path.chmod(int(action.mode, 8))
            case r.Archive():
                tarball.pack(self.work / action.folder, self.out / action.output)
            case r.Copy():
                self._copy(action)
            case r.Maven():
                self._maven(action)
            case r.Npm():
                self._npm(action)
            case r.Run():
                argv = [self._argument(a) for a in action.argv]
                self._run(action.title, argv, self.work / action.folder, env)
            case r.Debian():
                self._debian(action)
            case r.Take():
                self._take(action)
            case r.Wheels() | r.Source() | r.Pack():
                PythonSteps(self.artifact, self.work, self.tell, self._run, self._failed).do(action)
            case r.Image():
                self._image(action)
            case r.Test():
                argv = ["go", "test", "-vet=off", *action.packages]
                self._run(
                    "run tests", argv, self.work / action.folder, {**env, **golang.linking(action.glibc)}
                )
            case r.Build():
                self._build(action, env)

    def _module(self, m: r.Module, env: Mapping[str, str]) -> None:
        argv = ("go", "mod", "download", "-json", f"{m.name}@{m.version}")
        # Outside of any module: Go then checks against its checksum database, whatever a go.mod here replaces.
        how = {"GOFLAGS": "-mod=mod"} | ({"GONOSUMDB": m.name} if m.unlisted else {})
        done = self._run(f"download {m.name}", argv, self.log.parent, {**env, **how})
        report = json.loads(done.stdout)
        if m.sum and report["Sum"] != m.sum:
            raise self._failed(f"download {m.name}", report["Sum"], m.sum)
        target = self.work / m.to
        shutil.copytree(report["Dir"], target)
        for path in (target, *target.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)
        if not (target / "go.mod").exists():
            _write(target / "go.mod", f"module {m.name}\n")

    def _replace(self, a: r.Replace) -> None:
        path = self.work / a.file
        text = path.read_text(encoding="utf-8")
        if a.old not in text:
            raise self._failed(f"change {a.file}", "the text is not there", a.old)
        path.write_text(text.replace(a.old, a.new), encoding="utf-8")

    def _patch(self, a: r.Patch) -> None:
        for path in sorted((self.artifact.folder / a.source).glob("*.patch")):
            try:
                patching.apply(path.read_text(encoding="utf-8"), self.work / a.to)
            except patching.DifferenceError as error:
                raise self._failed(f"apply {path.name}", str(error), "the source it was made for") from error

    def _maven(self, m: r.Maven) -> None:
        mvn = shutil.which("mvn")
        if mvn is None:
            raise AvadmError(no_program("mvn", ""))
        settings, target = self.work / "settings.xml", self.work / m.to
        pom = self.work / "pom.xml"
        shutil.copy(self.artifact.folder / m.pom, pom)
        try:
            url = maven.central(maven.home(mvn))
        except maven.MavenError as error:
            raise self._failed(
                "ask Maven's settings", str(error), "the central repository's address"
            ) from error
        settings.touch(mode=0o600)  # a proxy's password may be in it
        settings.write_text(maven.settings_of(url, self.environment), encoding="utf-8")
        self._run("fetch jars", maven.command(settings, pom, target), self.work, {})
        maven.drop(target, m.without)
        listed = self.artifact.folder / m.sums
        wanted = maven.parse(listed.read_text(encoding="utf-8")) if listed.is_file() else {}
        found = maven.sums(target)
        if other := maven.differences(wanted, found):
            with self.log.open("a", encoding="utf-8") as log:
                log.write(f"# the jars that were fetched\n{maven.listed(found)}")
            raise self._failed(
                "check the jars",
                "; ".join(other[:5]),
                f"the {quantity(len(wanted), 'jar')} of {listed.name}, no others",
            )

    def _npm(self, n: r.Npm) -> None:
        if loose := npm.wrong(self.artifact.folder):
            raise self._failed(
                "read the lock of npm packages", "; ".join(loose[:5]), "each pinned by a sha512"
            )
        folder = self.work / "npm"
        npm.prepare(self.artifact.folder, folder)
        self._run("fetch npm packages", npm.COMMAND, folder, {})
        for source, target in n.files.items():
            shutil.copyfile(folder / "node_modules" / source, self.out / target)

    def _copy(self, a: r.Copy) -> None:
        source, target = self.work / a.source, self.work / a.to
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)

    def _build(self, b: r.Build, env: Mapping[str, str]) -> None:
        flags = " ".join(("-s -w", *b.ldflags))
        tags = (f"-tags={b.tags}",) if b.tags else ()
        argv = ("go", "build", "-o", str(self.out / b.output), *tags, f"-ldflags={flags}", b.package)
        folder = self.work / b.folder
        self._run(f"compile {b.output}", argv, folder, {**env, **golang.linking(b.glibc)})

    def _take(self, a: r.Take) -> None:
        file, target = self.others[a.artifact] / a.file, self.work / a.to
        if a.to in self.artifact.files:
            target = self.out / a.to
        target.parent.mkdir(parents=True, exist_ok=True)
        if not a.member:
            shutil.copy(file, target)
            return
        layers = reversed(images.layers(file, self.work / f".layers-{a.artifact}"))
        found = next((body for layer in layers if (body := images.member(layer, a.member)) is not None), None)
        if found is None:
            raise self._failed(f"take {a.member}", f"{a.artifact} has no such file", a.member)
        target.write_bytes(found)
        target.chmod(0o755)

    def _debian(self, d: r.Debian) -> None:
        hooks = [f'--customize-hook=chroot "$1" sh -c {shlex.quote(c)}' for c in d.commands]
        argv = [
            "mmdebstrap", "--variant=minbase", f"--include={','.join(d.packages)}", *SLIM, *hooks,
            d.release, str(self.work / d.output),
        ]  # fmt: skip
        self._run(f"make a small Debian ({d.release})", argv, self.work, {"SOURCE_DATE_EPOCH": "0"})

    def _image(self, image: r.Image) -> None:
        name = image.name.format(version=self.artifact.version)
        self.tell(f"write the image {name}")
        layers = images.layers(self.work / image.base, self.work / ".base") if image.base else []
        for number, part in enumerate(image.layers):
            layer = self.work / part
            if layer.is_dir():
                layer = self.work / f"layer-{number}.tar"
                tarball.pack(self.work / part, layer)
            layers.append(layer)
        images.write(
            self.out / image.output,
            name,
            layers,
            entrypoint=image.entrypoint,
            command=image.command,
            env={k: v.replace("{version}", self.artifact.version) for k, v in image.env.items()},
        )

    def _matching(self, pattern: str) -> list[Path]:
        found = sorted(self.work.glob(pattern))
        if not found:
            raise self._failed("find files", "none", pattern)
        return found

    def _argument(self, text: str) -> str:
        head, at, name = text.partition("=@")
        if not at:
            return text
        return f"{head}={','.join((self.artifact.folder / name).read_text(encoding='utf-8').split())}"

    def _run(self, title: str, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> CompletedCommand:
        self.tell(title)
        done = self.commands.run(
            argv,
            cwd=cwd,
            env={**self.environment, **env},
            log=self.log,
            heard=lambda s: self.tell(f"{title}: {s}"),
        )
        if done.rc == NOT_FOUND:
            raise AvadmError(no_program(argv[0], " ".join(done.stderr_lines)))
        if done.rc != 0:
            # Maven complains on its standard output.
            report = done.stderr_lines[-3:] or [s for s in done.stdout.splitlines() if "ERROR" in s][:3]
            raise self._failed(title, " / ".join(report) or f"exit status {done.rc}", "exit status 0")
        return done

    def _failed(self, title: str, found: str, wanted: str) -> AvadmError:
        return AvadmError.of(
            "artifact-build",
            where=str(self.log),
            found=found,
            wanted=wanted,
            name=self.artifact.name,
            title=title,
        )


def _only(*patterns: str) -> Callable[[str, list[str]], set[str]]:
    """Return an ``ignore`` of copytree that takes only these files of the top folder."""

    def ignored(_: str, names: list[str]) -> set[str]:
        return {n for n in names if not any(Path(n).match(p) for p in patterns)}

    return ignored


def _write(path: Path, text: str) -> None:
    if not path.exists():
        path.write_text(text, encoding="utf-8")
