package stepwell_test

import (
	"bytes"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageHasAComment(t *testing.T) {
	t.Parallel()
	eachPackage(t, func(p goPackage) {
		documented := len(p.source()) == 0
		for _, f := range p.source() {
			documented = documented || f.ast.Doc != nil
		}
		if !documented {
			t.Errorf("%s: no file has a package comment", p.path)
		}
	})
}

// What runs before main can neither be configured nor tested.
func TestNoInitFunctions(t *testing.T) {
	t.Parallel()
	eachPackage(t, func(p goPackage) {
		for _, f := range p.files {
			for _, decl := range f.ast.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s: has an init function", f.path)
				}
			}
		}
	})
}

// The kernel takes head and lane names from its callers and knows none of its own (invariant 43).
func TestKernelKnowsNoHeadOrLane(t *testing.T) {
	t.Parallel()
	eachPackage(t, func(p goPackage) {
		if !matches([]string{"pkg/kernel/..."}, p.path) || p.forTests() {
			return
		}
		for _, f := range p.source() {
			f.texts(func(text string) {
				switch text {
				case "main", "steer", "queue":
					t.Errorf("%s: contains the literal %q", f.path, text)
				}
			})
		}
	})
}

// Projections take the read half of the contract and cannot even name the other (invariant 19).
func TestProjectionsCannotWrite(t *testing.T) {
	t.Parallel()
	writers := []string{"Store", "Session", "ObjectWriter", "RefWriter", "Leaser", "EventWriter"}
	seen := false
	eachPackage(t, func(p goPackage) {
		if p.path != "pkg/kernel/view" {
			return
		}
		for _, f := range p.source() {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "store" {
					seen = true
					if slices.Contains(writers, sel.Sel.Name) {
						t.Errorf("%s names store.%s", f.path, sel.Sel.Name)
					}
				}
				return true
			})
		}
	})
	if !seen {
		t.Error("pkg/kernel/view does not use the contract: this test looks in the wrong place")
	}
}

// Files mean the same on every machine: none names a place that only its author had.
func TestNoMachinePaths(t *testing.T) {
	t.Parallel()
	machine := regexp.MustCompile(`(?:^|[^\w.:/])/(?:home|root|Users|work)/\w|[A-Z]:\\Users\\`)
	for _, name := range trackedFiles(t) {
		data, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // deleted and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsRune(data[:min(len(data), 8000)], 0) {
			continue
		}
		for number, line := range strings.Split(string(data), "\n") {
			if found := machine.FindString(line); found != "" {
				t.Errorf("%s:%d: names the machine path %q", name, number+1, found)
			}
		}
	}
}

// trackedFiles returns the regular files under version control, or all of them where there is no version control.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	_, noGit := exec.LookPath("git")
	if _, err := os.Stat(".git"); err == nil && noGit == nil {
		// The checkout may belong to someone else, as it does in a container.
		out, err := exec.CommandContext(t.Context(), "git", "-c", "safe.directory=*", "ls-files", "-z").Output()
		if err != nil {
			t.Fatalf("listing tracked files: %v", err)
		}
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	}
	var files []string
	err := filepath.WalkDir(".", func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (name == ".cache" || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if err == nil && entry.Type().IsRegular() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A module that is imported is a decision, with its reason and licence in docs/dependencies.md.
func TestDependenciesAreExplained(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var required []string
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:require )?([\w.-]+\.[\w.-]+/\S+) v`).FindAllStringSubmatch(string(mod), -1) {
		required = append(required, m[1])
	}
	if len(required) == 0 {
		t.Fatal("go.mod requires nothing: the test reads it wrongly")
	}
	imported := map[string]string{}
	eachPackage(t, func(p goPackage) {
		for _, f := range p.files {
			for _, name := range f.imports(t) {
				for _, module := range required {
					if matches([]string{module + "/..."}, name) {
						imported[module] = f.path
					}
				}
			}
		}
	})
	for module, file := range imported {
		if !strings.Contains(string(doc), "| `"+module+"` |") {
			t.Errorf("%s imports %s, which docs/dependencies.md does not explain", file, module)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w.-]+\\.[\\w.-]+/\\S+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		if !strings.Contains(string(mod), row[1]+" v") {
			t.Errorf("docs/dependencies.md explains %s, which go.mod does not require", row[1])
		}
	}
}
