"""Finds changed code in which no check would notice a mistake.

Existing tests guard the base's code. If they cannot be run, or fail before and after the change, nothing guards the
code that they test. If a change alters such code, the requirements are `tested` at most, unless their cases reach the
code.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from trued.model import (
    BrowserCheck,
    CallCase,
    Check,
    CommandCheck,
    Evidence,
    ExamplesCheck,
    RunCase,
    TestsCheck,
)
from trued.proof.dependencies.package_manifests import is_package_manifest
from trued.proof.dependencies.package_words import DOCUMENTS, INERT
from trued.proof.hashes import check_hash
from trued.proof.reach.altered_go import altered_declarations, used_declarations
from trued.proof.reach.altered_python import (
    MODULE,
    NameGraph,
    altered_names,
    computed_members,
    defined_names,
    new_statements,
    reached_names,
)
from trued.proof.reach.file_readers import PAGES_AND_SETTINGS, files_that_code_reads
from trued.proof.reach.imports_from_top import first_imports_from_top
from trued.proof.reach.own_checks import starts_unknown_program, words_of_commands
from trued.proof.reach.reachable_files import files_of_programs, reachable_files
from trued.proof.reach.replaced_product import replaced_product
from trued.proof.reach.tests_in_python import names_of_tests, without_idle_tests, without_tests
from trued.proof.reach.uncollected_tests import DOCUMENTS_WITH_EXAMPLES, examples_of
from trued.proof.reach.used_by_tests import Undoing, altered_helpers
from trued.proof.reach.vanished_tests import vanished_tests
from trued.proof.red_suites import TurnedTests, turned_tests
from trued.proof.room.bench import WHOLE_CHECK
from trued.proof.room.environment import interpreter_of
from trued.proof.room.frozen_files import is_below, is_test
from trued.proof.room.import_folders import projects_of_base
from trued.proof.room.import_shadows import StandardLibrary, files_in_place_of_others, namesakes_among_tests
from trued.proof.room.package_json import is_package_json
from trued.proof.room.project_folders import regular_modules, top_level_modules
from trued.proof.run_check import distinct_checks
from trued.proof.text.commit_texts import MOST_FILES, as_text, is_unread, texts_at
from trued.proof.text.languages import CODE, SCRIPTS, is_script
from trued.proof.text.module_places import may_import
from trued.proof.text.python_imports import imported_modules
from trued.proof.text.python_names import names_at_load, used_attributes, used_names
from trued.proof.text.script_aliases import ScriptAliases, is_settings, leads_elsewhere
from trued.proof.text.script_imports import relative_paths
from trued.proof.trial import CommitTrial, is_untraced
from trued.proof.verdict.case_status import Base, Head, on_base, on_head
from trued.proof.verdict.judge import is_superseded
from trued.support.lazy_regex import lazy_regex
from trued.support.tables import json_table, table_at, toml_table

COMPILED = (".pyc", ".so", ".pyd", ".dll", ".dylib", ".node", ".wasm", ".class", ".jar")
MOST_CODE = 5000  # at most this many files of code are searched for the names of data
MOST_HELPERS = 8  # at most this many changed test helpers are undone, because existing tests run twice for each of them
# More than `FEW_HELPERS` are undone only if all these runs of the existing tests take no longer than `LONGEST_S`.
FEW_HELPERS, LONGEST_S = 4, 1800.0
# Keys of a package.json that only package managers read. Code of the product may read any other key.
_DECLARING = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "scripts", "version")
REPLACES = "takes the place of another module"
PYPROJECT = "pyproject.toml"
_LOCKS = lazy_regex(r".*[.-]lock(\.\w+)?|.*\.lockb|go\.sum|npm-shrinkwrap\.json")
_DOCUMENTS = lazy_regex(r"(readme|license|copying|notice|changelog|changes|history|authors|contributing)\b.*", re.I)


class UnguardedCode:
    """Finds the changed code of a trial that nothing guards.

    "Requirement → code" in the docstrings of methods: code is listed as a file, or as `file (name)` for one function or
    class of a file. `turned`: the evidence of red suites, if the search had to run these suites on base and head.
    """

    def __init__(self, trial: CommitTrial, changed: Sequence[str]) -> None:
        self.trial, self.workspace, self.contract = trial, trial.workspace, trial.contract
        self._paths = changed
        # Changed tests that were replaced or removed in the room are left out: they are not part of the product.
        self._changed = [path for path in changed if path not in trial.room.replaced or not is_test(path)]
        self._code: list[str] | None = None
        self._unwatched: list[str] | None = None
        self._texts: dict[str, str] = {}  # texts of the base that were read already
        self._replaced: list[str] | None = None
        self.turned: tuple[Evidence, ...] = ()

    async def never_run(self) -> dict[str, list[str]]:
        """Requirement → changed code that no check was seen to run, but that may be reached by existing tests which
        were not run. {} if all existing tests were run."""
        if not self.contract.unguarded and not self.contract.uncollected:
            return {}
        left = await self._unwatched_by_checks()
        if left and not self.contract.unguarded:
            left = await self._within_reach_of_uncollected(left)
        if left and self.contract.red_suites:
            interpreter = await interpreter_of(self.workspace, self.contract)
            commit, kept = self.trial.commit, self.trial.kept
            turned = await turned_tests(self.workspace, self.contract, commit, interpreter, kept=kept)
            self.turned = turned.facts
            left = await self._unwatched_code(turned)
        return await self._by_requirement(left)

    async def known_by_exit_code_only(self) -> dict[str, list[str]]:
        """Requirement → changed code that no check was seen to run, and that existing tests in a plain command may run.

        The engine knows only the exit code of such a command, and code that the command runs can choose the exit code.
        {} if all existing tests are counted."""
        checks = [check for suite in self.contract.suites for check in suite.checks]
        if not any(isinstance(check, CommandCheck) for check in checks):
            return {}
        return await self._by_requirement(await self._unwatched_by_checks())

    async def _within_reach_of_uncollected(self, code: list[str]) -> list[str]:
        """The part of `code` that uncollected existing tests may reach. If the engine cannot know what these tests
        reach, all code is returned. Go files that other tests guard are left out."""
        known = await self.workspace.blobs(self.contract.base)
        # New files count, too: code of the base may find them by their names or by their folder.
        reached = await reachable_files(self._read_base, {*known, *self._changed}, self.contract.uncollected)
        texts = await self._texts_of_tests(self.contract.uncollected)
        if any(starts_unknown_program(name, text, known) for name, text in texts.items()):
            reached = None
        guarded = await self._guarded_go([place for place in code if place.endswith(".go")])
        code = [place for place in code if place not in guarded]
        if reached is None:
            return code
        return [
            place for place in code if {place, place.rpartition(" (")[0]} & reached or place.endswith(f" ({REPLACES})")
        ]

    async def _guarded_go(self, paths: list[str]) -> list[str]:
        """The changed Go files among `paths` in which guarding Go tests use every altered declaration. The texts of the
        tests are read, because the engine does not see which code Go tests run."""
        tests = [test for test in self._idle_and_guarding()[1] if test.split("::")[0].endswith(".go")]
        if not paths or not tests:
            return []
        idle = {test.split("::")[0] for test in self.contract.uncollected}
        texts = await self._texts_on_base(tests=True, suffixes=(".go",))
        used = used_declarations({path: text for path, text in texts.items() if path not in idle}, tests)
        before, after = await self._texts_on_both_sides(paths)
        both_texts = {path: (before.get(path, ""), after.get(path, "")) for path in paths}
        whole = [path for path in paths if not any(map(is_unread, both_texts[path]))]
        altered = {path: altered_declarations(*both_texts[path]) for path in whole}
        return [path for path in whole if all(used.issuperset(name.split(".")) for name in altered[path])]

    async def _texts_of_tests(self, tests: Iterable[str]) -> dict[str, str]:
        """Test (`file` or `file::name`) → the text of its file on the base; "" if the base has no such file."""
        files = {name: name.split("::")[0] for name in tests}
        texts = await self._read_base({*files.values()})
        return {name: texts.get(path, "") for name, path in files.items()}

    async def _read_base(self, paths: Collection[str]) -> dict[str, str]:
        return await texts_at(self.workspace, self.contract.base, paths)

    async def behind_failing_tests(self) -> dict[str, list[str]]:
        """Requirement → code of the base that the head altered and that only idle tests reach. Idle tests are existing
        tests that pass neither on the base nor on the head, or that no check collects. They cannot notice a mistake."""
        names_in_idle, names_in_others = await self._names_in_tests()
        if not names_in_idle:
            return {}
        altered = await self._altered_pieces(await self._changed_code())
        if not altered:
            return {}
        texts = await self._texts_on_base(tests=True)
        guarding = self._without_idle_tests(texts)
        # `watched`: names that cases or tests that are not idle reach. `idle`: names that idle tests reach.
        graph = NameGraph(guarding.values())
        watched = graph.reached([*self._entry_points(), *names_in_others])
        idle = NameGraph((text for path, text in texts.items() if guarding[path] != text), graph).reached(names_in_idle)
        behind = idle - watched
        product = {path: defined_names(text) for path, text in texts.items() if not is_test(path)}
        modules = {_module_name(path) for path, names in product.items() if not behind.isdisjoint(names)}
        places = [f"{path} ({name})" for path, name in altered if _is_reached(name, idle, beside=watched)]
        # A name that several modules define may be watched in one of them, and idle in another.
        several = Counter(name for names in product.values() for name in names)
        shared = [(path, name) for path, name in altered if several[name] > 1 and name in idle & watched]
        places += [f"{path} ({name})" for path, name in self._only_namesakes_used(shared, texts)]
        # A new file may take the place of a module that only idle tests reach.
        places += [f"{path} ({name})" for path, name in altered if name == REPLACES and _module_name(path) in modules]
        # Statements that run when a module is loaded may alter names that only idle tests reach.
        rewritten = [path for path, name in altered if name == MODULE]
        before, after = await self._texts_on_both_sides(rewritten)
        for path in rewritten:
            mentioned = new_statements(before.get(path, ""), after.get(path, ""))
            places += [f"{path} ({name})" for name in sorted(mentioned & (behind | modules | {MODULE}))]
        return await self._by_requirement(list(dict.fromkeys(places)))

    def _only_namesakes_used(
        self, functions: Sequence[tuple[str, str]], texts: Mapping[str, str]
    ) -> list[tuple[str, str]]:
        """The functions (path, name) that no case and no guarding test takes from the function's own module, and that
        the module itself does not use.

        A case or test that uses only the name may mean a function of another module.
        """
        if not functions:
            return []
        idle = self._idle_and_guarding()[0]
        calls = [case.call.replace(":", ".") for case in self._calls()]
        guarding = [without_tests(text, path, idle) for path, text in texts.items()]
        taken = {name for text in guarding for name in imported_modules(text) | used_attributes(text)} | {*calls}
        pairs = {tuple(name.split(".")[-2:]) for name in taken}
        return [
            (path, name)
            for path, name in functions
            if pairs.isdisjoint({(_module_name(path), name), (_module_name(path), "*")})
            and name not in used_names(texts.get(path, ""))
        ]

    async def blinding_helpers(self) -> list[str]:
        """The changed files that only existing tests use on the base, and that may hide mistakes from these tests.

        To undo a change means that the tests run with the base's version of the file. If the tests fail when a file is
        undone, the file is returned. If they fail only when several files are undone together, or if there are too many
        files to try, all files are returned.
        """
        known = await self.workspace.blobs(self.contract.base)
        code = [
            path
            for path in await self._changed_code()
            if not (is_package_json(path) and _has_code_below(path, known))  # it belongs to the code, not to tests
        ]
        suspects = await altered_helpers(self.workspace, self.contract, self.trial.commit, code)
        groups = _groups_of_suspects(suspects)
        runs = 2 * len(groups) + 1
        took_s = runs * self._seconds_of_existing_tests()
        if len(groups) > MOST_HELPERS or (len(groups) > FEW_HELPERS and took_s > LONGEST_S):
            return list(suspects)
        # A suspect may be a helper or a part of the product, so one suspect may have a mistake that others hide.
        # First each helper is undone while all others stay, because two changes may cancel each other out.
        undoings_of_groups = [[suspects[path] for path in paths] for paths in groups]
        hiding = [
            paths
            for paths, undoings in zip(groups, undoings_of_groups, strict=True)
            if await self._hides_failures(undoings)
        ]
        if hiding or len(groups) < 2:
            return [path for paths in hiding for path in paths]
        # Then all suspects are undone together, because each of several helpers may hide the same failure. At last all
        # suspects but one are undone, because this one may have the mistake that all others hide.
        combinations = [[*suspects.values()]]
        if len(groups) > 2:  # of two, each was undone alone already
            combinations += [
                [undoing for others in undoings_of_groups if others is not left_out for undoing in others]
                for left_out in undoings_of_groups
            ]
        for undoings in combinations:
            if await self._hides_failures(undoings):
                return list(suspects)
        return []

    async def taking_the_place_of_others(self) -> list[str]:
        """New files that Python would load instead of a module that the project imports from the standard library or
        from a package. Tests may not notice, because the test runner has already loaded the right module."""
        known = await self.workspace.blobs(self.contract.base)
        added = [path for path in self._changed if path not in known and path not in self.trial.room.not_loaded]
        packages = {name.replace("-", "_") for name in self.trial.room.packages}
        if not any(path.endswith((".py", ".so", ".pyd")) for path in added):
            return []
        texts, folders = await self._texts_on_base(tests=True), self.contract.import_folders
        room = self.trial.room
        return files_in_place_of_others(added, folders, texts, StandardLibrary(room.standard, room.library), packages)

    async def namesakes_among_tests(self) -> list[str]:
        """New files beside the base's tests that these tests would load in place of modules of the product."""
        known = await self.workspace.blobs(self.contract.base)
        return [*await self._namesakes([path for path in self._paths if path not in known])]

    async def behind_namesakes(self) -> dict[str, list[str]]:
        """Requirement → changed code of the product that no check was seen to run. The base's tests load files of their
        own in place of this code."""
        known = await self.workspace.blobs(self.contract.base)
        names = {*(await self._namesakes([path for path in known if is_test(path)])).values()}
        if not names:
            return {}
        code = [place for place in await self._unwatched_by_checks() if not names.isdisjoint(_modules_of(place))]
        return await self._by_requirement(code)

    async def _namesakes(self, paths: Collection[str]) -> dict[str, str]:
        """Path → name of a module of the product, for each of these files that the base's tests load in place of that
        module."""
        if not paths:
            return {}
        known, here = [await self.workspace.blobs(commit) for commit in (self.contract.base, self.trial.commit)]
        tests = {path: text for path, text in (await self._texts_on_base(tests=True)).items() if is_test(path)}
        packages = [
            {posixpath.dirname(path) for path in side if path.endswith("/__init__.py")} for side in (known, here)
        ]
        return namesakes_among_tests(paths, known, self.contract.import_folders, tests, packages)

    async def vanished_tests(self) -> list[str]:
        """The existing tests that pass on the base, that no requirement supersedes, and that the head no longer has.
        Once the head has landed, they would guard nothing."""
        guarding: dict[str, None] = {}
        for name in {fact.check for fact in self.trial.base_facts if fact.kind == "tests"}:
            states = on_base(
                [fact for fact in self.trial.base_facts if fact.check == name], self.trial.room.new_modules
            )
            guarding |= {test: None for test, state in states.items() if state is Base.GUARD}
        own_files = {*self.contract.carried, WHOLE_CHECK}  # the user's, which no commit needs to have
        tests = [
            test for test in guarding if not self._is_superseded(test) and test.partition("::")[0] not in own_files
        ]
        run = self.trial.tests_run_as_committed
        return sorted(await vanished_tests(self.workspace, self.contract.base, self.trial.commit, tests, run))

    async def hiding_modules(self) -> dict[str, list[str]]:
        """Requirement → new files at the top that hide modules of the base in other folders: `python -m` looks at the
        top first. Only for requirements with checks that start programs or servers, or open pages."""
        before, after = [
            [path for path in await self.workspace.blobs(commit) if path.endswith((".py", ".so", ".pyd"))]
            for commit in (self.contract.base, self.trial.commit)
        ]
        at_top, at_top_before = regular_modules(".", after), regular_modules(".", before)
        hiding, known_paths = set[str](), {*before}
        for folder in (folder for folder in self.contract.import_folders if folder != "."):
            inner = top_level_modules(folder, before) & top_level_modules(folder, after)
            # Python finds a package with `__init__.py` before a folder without one, even if that folder comes first.
            names = inner - at_top_before - (regular_modules(folder, after) - at_top)
            hiding |= {
                path
                for path in after
                if path not in known_paths
                and (name := path.split("/")[0].partition(".")[0]) in names
                and (name in at_top or not is_test(path))
                and not any(is_below(path, f"{folder}/{module}") for module in inner)
            }
        untraced = [requirement.id for requirement in self.trial.due if any(map(is_untraced, requirement.checks))]
        return dict.fromkeys(untraced, sorted(hiding)) if hiding else {}

    async def first_imports_from_top(self) -> list[str]:
        """Files of project folders that begin to import modules from the top or from `src`. Checks find these modules,
        but an installation of the project may lack them."""
        known, here = [await self.workspace.blobs(commit) for commit in (self.contract.base, self.trial.commit)]
        places = await projects_of_base(self.workspace, self.contract, with_top=True)
        code = [path for path in here if path.endswith(".py") and any(is_below(path, folder) for folder in places)]
        if not code:
            return []
        used = {*await self._changed_code()}
        sides = await self._texts_on_both_sides([path for path in code if not is_test(path) or path in used])
        return first_imports_from_top(sides, (known, here), places, self.contract.project_roots)

    async def replaced_product(self) -> list[str]:
        """The files of the product that the tests used in the base's version, not in the head's (see
        `reach/replaced_product.py`)."""
        if self._replaced is None:
            left = self.trial.room.not_as_committed if self.contract.suites else ()
            self._replaced = (
                await replaced_product(self.workspace, self.contract, self.trial.commit, left) if left else []
            )
        return self._replaced

    async def failing_with_product(self) -> tuple[list[str], list[str]]:
        """The existing tests that fail with the head's version of the files of `replaced_product`, and these files;
        both empty if all pass."""
        files = await self.replaced_product()
        failing = await self.trial.tests_failing_with({}, kept=files) if files else []
        return failing, files if failing else []

    def _seconds_of_existing_tests(self) -> float:
        """How long all existing tests took on the base."""
        names = [check_hash(check) for suite in self.contract.suites for check in suite.checks]
        seconds = [[fact.seconds for fact in self.trial.base_facts if fact.check == name] for name in names]
        return sum(max(runs_s, default=0.0) for runs_s in seconds)

    async def _hides_failures(self, undone: Sequence[Undoing]) -> bool:
        """Whether existing tests fail if these changes are undone.

        Tests may fail with the base's version of a file only because other code of the head needs definitions that the
        head added to the file. So the tests run again with these definitions added to the base's version, and must fail
        again."""
        files = {path: blob for undoing in undone for path, blob in undoing.files.items()}
        grown = {path: text for undoing in undone for path, text in undoing.grown.items()}
        if not await self.trial.tests_failing_with(files):
            return False
        return not grown or bool(await self.trial.tests_failing_with(files, grown))

    async def _by_requirement(self, code: list[str]) -> dict[str, list[str]]:
        """Requirement → `code`, for every requirement of the trial.

        If the requirement's checks start a program or a server, or open a page, the engine does not see which code ran.
        Then two kinds of code are left out: code in new files, and code that these programs, servers and pages may
        reach on the base. A requirement for which no code is left does not appear.
        """
        by_requirement: dict[str, list[str]] = {}
        for requirement in self.trial.due if code else ():
            unwatched = (
                await self._out_of_reach_of_programs(code, requirement.checks)
                if any(map(is_untraced, requirement.checks))
                else code
            )
            by_requirement |= {requirement.id: unwatched} if unwatched else {}
        return by_requirement

    async def _out_of_reach_of_programs(self, code: list[str], checks: Sequence[Check]) -> list[str]:
        cases = [case for check in checks if isinstance(check, ExamplesCheck) for case in check.cases]
        commands = [case.run for case in cases if isinstance(case, RunCase)]
        pages = [(check.page,) for check in checks if isinstance(check, BrowserCheck)]
        needs_server = pages or not all(isinstance(case, CallCase | RunCase) for case in cases)
        commands += [*pages, *([self.contract.serve.command] if needs_server and self.contract.serve else [])]
        known = await self.workspace.blobs(self.contract.base)
        code = [place for place in code if place in known or place.rpartition(" (")[0] in known]
        reached = await files_of_programs(self._read_base, known, commands) if code else None
        return [] if reached is None else [place for place in code if not {place, place.rpartition(" (")[0]} & reached]

    async def _unwatched_by_checks(self) -> list[str]:
        """The changed code that the checks were not seen to run or reach."""
        if self._unwatched is None:
            self._unwatched = await self._unwatched_code(TurnedTests())
        return self._unwatched

    async def _unwatched_code(self, turned: TurnedTests) -> list[str]:
        """The changed code that neither the checks nor the red tests that pass now were seen to run or reach."""
        files_run = turned.ran.union(*self.trial.ran.values())
        code = await self._changed_code()
        loaded = [path for path in code if path in files_run]
        tested = turned.ran.union(*self._files_run_by_tests())
        altered = await self._scripts_out_of_reach([path for path in loaded if path not in tested])
        altered += await self._altered_out_of_reach(loaded, turned)
        return [path for path in code if path not in files_run] + altered

    async def _changed_code(self) -> list[str]:
        """The changed files that may contain code of the product, or data of the base that the product may read. A test
        file is among them only if code that is not a test imports it."""
        if self._code is None:
            known = await self.workspace.blobs(self.contract.base)
            code = [path for path in self._changed if path.endswith((*CODE, *COMPILED))]
            candidates = [
                *code,
                *await self._changed_data([path for path in self._changed if path in known and path not in code]),
                *await self._redirecting_manifests(),
            ]
            tests = {path for path in candidates if is_test(path)}
            while tests and (
                used := await self._imported_files([path for path in candidates if path not in tests], tests)
            ):
                tests -= used  # the files in `used` may import others
            tests -= {*await self.replaced_product()}
            self._code = [path for path in candidates if path not in tests]
        return self._code

    async def _changed_data(self, paths: Sequence[str]) -> list[str]:
        """The files among `paths` that code may read. `paths`: changed files of the base that are no code. Documents,
        pictures, manifests, lock files and settings are left out if no code of the base reads them."""
        idle = [path for path in paths if _is_no_data_by_name(path)]
        known = await self.workspace.blobs(self.contract.base)
        if not idle:
            return [*paths]
        # Code first, so that other files do not crowd it out. Code that was not read might read any of these files.
        code = await self._texts_on_base(tests=True, suffixes=CODE, most=MOST_CODE)
        if len(code) < sum(path.endswith(CODE) for path in known):
            return [*paths]
        texts = code | await self._texts_on_base(tests=True, suffixes=(*PAGES_AND_SETTINGS, ""))
        read = files_that_code_reads(texts, idle, known)
        manifests = [path for path in read if is_package_json(path) and _has_code_below(path, known)]
        before, after = await self._texts_on_both_sides(manifests)
        read -= {path for path in manifests if _only_packages_differ(before[path], after.get(path, ""))}
        return [path for path in paths if path not in idle or path in read]

    async def _redirecting_manifests(self) -> list[str]:
        """The changed package.json files that let names of the base stand for other code than before."""
        before, after = await self._texts_on_both_sides([path for path in self._changed if is_package_json(path)])
        redirecting = [path for path, text in before.items() if leads_elsewhere(text, after.get(path, ""))]
        known = await self.workspace.blobs(self.contract.base)
        # The nearest package.json above a script says what the script's names stand for.
        packages = {posixpath.dirname(path) for path in known if is_package_json(path)}
        folders = {str(folder) for path in known if is_script(path) for folder in PurePosixPath(path).parents}
        for path in after.keys() - before.keys():
            above = {str(folder) for folder in PurePosixPath(path).parent.parents}
            nested = not above.isdisjoint(folder or "." for folder in packages)
            if str(PurePosixPath(path).parent) in folders and (nested or leads_elsewhere("", after[path])):
                redirecting.append(path)
        return sorted(redirecting)

    async def _imported_files(self, code: Sequence[str], paths: Collection[str]) -> set[str]:
        """Of these paths, the files that the base's code or the head's `code` imports."""
        texts = await self._texts_on_base(suffixes=(".py", *SCRIPTS))
        after = await self.workspace.read_all(self.trial.commit, code)
        sources = [*texts.items(), *((path, as_text(content)) for path, content in after.items() if content)]
        # The head may define new short names, so that its code imports a test by one of them.
        aliases = [await self._aliases(commit) for commit in (self.contract.base, self.trial.commit)]
        return {imported for path, text in sources for imported in paths if _may_load(path, text, imported, aliases)}

    async def _aliases(self, commit: str) -> ScriptAliases:
        """The short names by which scripts of this commit import its files."""
        settings = [path for path in await self.workspace.blobs(commit) if is_settings(path)]
        return ScriptAliases(await texts_at(self.workspace, commit, settings))

    async def _scripts_out_of_reach(self, loaded: Sequence[str]) -> list[str]:
        """The base's files among `loaded`, except Python, that the entry points of cases do not load on the base,
        directly or through other files. A check loaded such a file only because the head imports it, and an import
        tests nothing."""
        known = await self.workspace.blobs(self.contract.base)
        left = [path for path in loaded if path in known and not path.endswith(".py")]
        if not left:
            return []
        texts, aliases = await self._texts_on_base(suffixes=SCRIPTS), await self._aliases(self.contract.base)
        to_follow, visited = [_without_suffix(call) for call in self._entry_files()], set[str]()
        while to_follow:
            name = to_follow.pop()
            if name not in visited:
                visited.add(name)
                to_follow += [
                    file
                    for path, text in texts.items()
                    if _without_suffix(path) == name
                    for file in _named_files(path, text, aliases)
                ]
        return [path for path in left if _without_suffix(path) not in visited]

    def _files_run_by_tests(self) -> list[frozenset[str]]:
        checks = {
            name: check for requirement in self.trial.due for name, check in distinct_checks((requirement,)).items()
        }
        return [
            self.trial.ran.get(name, frozenset()) for name, check in checks.items() if isinstance(check, TestsCheck)
        ]

    async def _altered_out_of_reach(self, loaded: Sequence[str], turned: TurnedTests) -> list[str]:
        """Code of the base that the head altered, in files that a check loaded but no test ran. A file that loads may
        still have mistakes. Code is left out if a case's entry point, or a red test that passes now, reaches the code
        on the base."""
        tested = frozenset[str]().union(*self._files_run_by_tests())
        altered = await self._altered_pieces([path for path in loaded if path not in tested])
        if not altered:
            return []
        texts = await self._texts_on_base()
        reached = reached_names(texts.values(), [*self._entry_points(), *turned.names])
        return [f"{path} ({name})" for path, name in altered if _last_part(name) not in reached]

    async def _names_in_tests(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names that idle existing tests use, and the names that all other existing tests use. Both are empty if
        all idle tests are in languages other than Python, and are neither documents with examples nor command lines. An
        idle command line that starts an unknown program may use every name of the base."""
        failing, passing = self._idle_and_guarding()
        files = {name.split("::")[0] for name in failing}
        readable = any(path.endswith((".py", *DOCUMENTS_WITH_EXAMPLES)) for path in files)
        own_checks = await self._texts_of_tests([name for name in self.contract.uncollected if name in failing])
        blobs, words = await self.workspace.blobs(self.contract.base), words_of_commands(own_checks)
        is_unknown = any(starts_unknown_program(name, text, blobs) for name, text in own_checks.items())
        if not readable and not words and not is_unknown:
            return frozenset(), frozenset()
        files |= {name.split("::")[0] for name in passing}
        texts = {path: examples_of(path, text) for path, text in (await self._read_base(files)).items()}
        used_by_idle = names_of_tests(texts, failing, strings=True)
        used_by_idle |= await self._names_started_by(words) if words else frozenset()
        if is_unknown:
            used_by_idle |= {name for text in (await self._texts_on_base()).values() for name in defined_names(text)}
        return used_by_idle, names_of_tests(self._without_idle_tests(texts), passing, strings=False)

    async def _names_started_by(self, words: frozenset[str]) -> frozenset[str]:
        """The names that command lines with these words use: the words themselves, what modules of the product use when
        they are started, and the functions behind the product's own commands."""
        names = set(words)
        for path, text in (await self._texts_on_base()).items():
            if not words.isdisjoint(_modules_of(path)):
                names |= names_at_load(text)
        manifest = (await self._read_base([PYPROJECT])).get(PYPROJECT, "")
        scripts = table_at(toml_table(manifest), "project", "scripts")
        names |= {
            _last_part(str(call).partition(":")[2])
            for command, call in scripts.items()
            if words.issuperset(re.findall(r"\w+", command))
        }
        return frozenset(names - {""})

    def _without_idle_tests(self, texts: Mapping[str, str]) -> dict[str, str]:
        """These texts without the functions that only idle tests run. A function of the product stays, even if an
        example in its docstring is an idle test."""
        idle, guarding = self._idle_and_guarding()
        tests = [test for test in idle if is_test(test.split("::")[0]) or test.split("::")[-1].startswith("test")]
        whole = [test for test in idle if "::" not in test]
        programs = self._programs_among(whole, texts)
        kept = {path: "" if path in programs else text for path, text in texts.items()}
        return without_idle_tests(kept, [*tests, *whole], guarding)

    def _programs_among(self, idle: Collection[str], texts: Mapping[str, str]) -> set[str]:
        """The files among `idle` that no other file imports and no case calls. `idle`: test files in which all tests
        are idle."""
        paths = {path for path in idle if path.endswith(".py")}
        if not paths:
            return set()
        entries = {_last_part(name) for name in self._entry_files()}
        users = {
            path: {part for name in imported_modules(text) for part in name.split(".")} for path, text in texts.items()
        }
        return {
            path
            for path in paths
            if _module_name(path) not in entries
            and not any(_module_name(path) in names for user, names in users.items() if user != path)
        }

    def _idle_and_guarding(self) -> tuple[list[str], list[str]]:
        """The idle existing tests, and all other existing tests. Idle tests pass neither on the base nor on the head,
        or no check collects them. Superseded tests never count as idle."""
        failing, passing = [test for test in self.contract.uncollected if not self._is_superseded(test)], list[str]()
        for check in (check for suite in self.contract.suites for check in suite.checks):
            before = [fact for fact in self.trial.base_facts if fact.check == check_hash(check)]
            here = [fact for fact in self.trial.evidence if fact.check == check_hash(check)]
            for name, state in on_base(before, self.trial.room.new_modules).items():
                idle = state is not Base.GUARD and on_head(name, here)[0] is not Head.PASSED
                (failing if idle and not self._is_superseded(name) else passing).append(name)
        return failing, passing

    def _is_superseded(self, name: str) -> bool:
        return any(
            is_superseded(name, test) for requirement in self.contract.requirements for test in requirement.supersedes
        )

    async def _altered_pieces(self, paths: Sequence[str]) -> list[tuple[str, str]]:
        """File and name of each function, class or other piece of the base's Python code that the head altered. A new
        file counts, too, if loading it does more than define things, or if it replaces another module."""
        code = [path for path in paths if path.endswith(".py")]
        known = await self.workspace.blobs(self.contract.base)
        before, after = await self._texts_on_both_sides(code)
        lost = any(imported_modules(text) - imported_modules(after.get(path, "")) for path, text in before.items())
        taken = await self._names_taken_by_module() if lost else {}
        product = await self._texts_on_base() if not known.keys() >= {*code} else {}
        elsewhere = self.trial.room.standard | {name for text in product.values() for name in imported_modules(text)}
        gained = {path: computed_members(before.get(path, ""), after.get(path, "")) for path in code}
        computed = frozenset[str]().union(*gained.values())
        folders = self.contract.project_roots
        altered = []
        for path in code:
            was, now = before.get(path, ""), after.get(path, "")
            exported = taken.get(_module_name(path), set())
            if path.endswith("__init__.py"):  # other files may take from a package whatever it imports
                exported = exported | {_last_part(name) for name in imported_modules(was)}
            names = altered_names(was, now, exported, computed)
            fresh = path not in known
            names |= {REPLACES} if fresh and _takes_place_of_another(path, known, elsewhere, folders) else frozenset()
            names |= {MODULE} if is_unread(was) or is_unread(now) else frozenset()  # what was not read may be altered
            altered += [(path, name) for name in sorted(names)]
        return altered

    async def _texts_on_both_sides(self, paths: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """The texts of these files on base and head."""
        return await self._read_base(paths), await texts_at(self.workspace, self.trial.commit, paths)

    async def _names_taken_by_module(self) -> dict[str, set[str]]:
        """Module (last part of its name) → names that files of the base import from it or use as its attributes."""
        names: dict[str, set[str]] = {}
        for text in (await self._texts_on_base(tests=True)).values():
            for dotted in imported_modules(text) | used_attributes(text):
                owner, _, name = dotted.rpartition(".")
                names.setdefault(_last_part(owner), set()).add(name)
        return names

    async def _texts_on_base(
        self, *, tests: bool = False, suffixes: tuple[str, ...] = (".py",), most: int = MOST_FILES
    ) -> dict[str, str]:
        """Path → text of the base's files with these suffixes, with or without tests and their helpers. The suffix ""
        stands for names without a suffix."""
        ends = tuple(suffix for suffix in suffixes if suffix)
        known = [
            path
            for path in await self.workspace.blobs(self.contract.base)
            if path.endswith(ends) or ("" in suffixes and "." not in PurePosixPath(path).name)
        ]
        paths = [path for path in known if tests or not is_test(path)][:most]
        if unread := [path for path in paths if path not in self._texts]:
            self._texts |= dict.fromkeys(unread, "") | await self._read_base(unread)
        return {path: self._texts[path] for path in paths}

    def _entry_files(self) -> list[str]:
        """The part before the colon of each call in a case. For JavaScript it is a file, for Python a module."""
        return [case.call.partition(":")[0].removeprefix("./") for case in self._calls()]

    def _entry_points(self) -> list[str]:
        """The names of the functions and classes that cases call."""
        return [part for case in self._calls() for part in case.call.partition(":")[2].split(".")]

    def _calls(self) -> list[CallCase]:
        checks = [
            check for requirement in self.trial.due for check in requirement.checks if isinstance(check, ExamplesCheck)
        ]
        return [case for check in checks for case in check.cases if isinstance(case, CallCase)]


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _is_reached(name: str, reached: Collection[str], beside: Collection[str]) -> bool:
    """Whether `reached` has this name, and `beside` lacks it.

    If `beside` has the name of a method (`Class.name`), it may mean a method of another class. Then the class decides:
    `reached` must have the class, and `beside` must lack the class."""
    owner, _, last = name.rpartition(".")
    if last not in reached or (owner and last in beside and _last_part(owner) not in reached):
        return False
    return last not in beside or (bool(owner) and _last_part(owner) not in beside)


def _module_name(path: str) -> str:
    """The last part of the name by which a Python file is imported."""
    pure = PurePosixPath(path)
    return pure.parent.name if pure.name == "__init__.py" else pure.stem


def _modules_of(place: str) -> set[str]:
    """Names by which imports may mention this file: its name without ending, and each folder above it. `place`: a path,
    or `path (what changed in it)`."""
    pure = PurePosixPath(place.rpartition(" (")[0] or place)
    return {pure.stem, *pure.parts[:-1]}


def _takes_place_of_another(
    path: str, known: Collection[str], elsewhere: Collection[str], folders: Collection[str]
) -> bool:
    """Whether Python would import this new file instead of another module of the same name: one of the base, or one in
    `elsewhere` (the standard library and packages). `folders`: the import roots of project folders."""
    roots = ("", "src/", *(f"{root}/" for root in folders))
    module = path.removesuffix("/__init__.py").removesuffix(".py")
    # The folder `api` of a project has the module `prices`, which is `api.prices` for code that is started at the top.
    places = {module.removeprefix(root) for root in roots if path.startswith(root)}
    others = {f"{root}{place}{end}" for root in roots for place in places for end in (".py", "/__init__.py")}
    return not places.isdisjoint(elsewhere) or not others.isdisjoint(known)


def _may_load(path: str, text: str, imported: str, aliases: Sequence[ScriptAliases]) -> bool:
    """Whether the file at `path`, judged by its text, may load the file `imported`."""
    if imported.endswith(".py"):
        return may_import(path, text, imported)
    return any(_without_suffix(imported) in _named_files(path, text, names) for names in aliases)


def _named_files(path: str, text: str, aliases: ScriptAliases) -> list[str]:
    """The files that a script names by a relative path, or imports by a short name, without their suffixes."""
    if not is_script(path):
        return []
    folder = posixpath.dirname(path)
    named = [posixpath.normpath(posixpath.join(folder, path)) for path in relative_paths(text)]
    named += aliases.loaded_by(path, text)
    return [file for place in named for file in (_without_suffix(place), place, f"{place}/index")]


def _without_suffix(path: str) -> str:
    return next((path.removesuffix(suffix) for suffix in SCRIPTS if path.endswith(suffix)), path)


def _groups_of_suspects(suspects: Iterable[str]) -> list[list[str]]:
    """The groups in which suspects are undone. Each suspect is a group of its own; but if there are many suspects, all
    data files of one folder are one group."""
    paths = [*suspects]
    if len(paths) <= MOST_HELPERS:
        return [[path] for path in paths]
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(path if path.endswith(CODE) else f"{PurePosixPath(path).parent}/", []).append(path)
    return [*groups.values()]


def _has_code_below(path: str, known: Iterable[str]) -> bool:
    folder = PurePosixPath(path).parent
    return any(file.endswith(CODE) and PurePosixPath(file).is_relative_to(folder) for file in known)


def _only_packages_differ(before: str, after: str) -> bool:
    """Whether two texts of a package.json differ in nothing but packages, scripts and version."""
    contents = [
        {key: value for key, value in json_table(text).items() if key not in _DECLARING} for text in (before, after)
    ]
    return bool(contents[0]) and contents[0] == contents[1]


def _is_no_data_by_name(path: str) -> bool:
    """Whether the path alone suggests that no code reads the file as data: documents, media, manifests, lock files,
    hidden files (except `.env` and the like), and all below `docs`. The caller finds out whether code reads it."""
    pure = PurePosixPath(path)
    if (
        pure.name in INERT
        or pure.suffix.lower() in (*DOCUMENTS, ".svg")
        or _LOCKS.fullmatch(pure.name)
        or _DOCUMENTS.fullmatch(pure.name)
    ):
        return True
    hidden = [part for part in pure.parts if part.startswith(".")]
    return bool(hidden and "env" not in pure.name) or pure.parts[0] in ("docs", "doc") or is_package_manifest(path)
