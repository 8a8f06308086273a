package stepwell_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/stepwell-dev/stepwell"

// A goFile is one parsed source file of this module.
type goFile struct {
	path string // slash-separated, from the root
	test bool
	ast  *ast.File
}

// A goPackage is one directory of Go files. Its import path is relative to the module, "" at the root.
type goPackage struct {
	path  string
	files []goFile
}

// source returns the files that are built, without tests.
func (p goPackage) source() []goFile {
	return slices.DeleteFunc(slices.Clone(p.files), func(f goFile) bool { return f.test })
}

// forTests reports whether p exists for tests only, as a suite or a harness.
func (p goPackage) forTests() bool { return strings.HasSuffix(p.path, "test") || p.path == "" }

// tree parses the module once. Nested modules, hidden directories and testdata are not part of it.
var tree = sync.OnceValues(func() (map[string]goPackage, error) {
	packages := map[string]goPackage{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			base := entry.Name()
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" || nested(name)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		file := goFile{path: filepath.ToSlash(name), test: strings.HasSuffix(name, "_test.go"), ast: parsed}
		dir := strings.TrimPrefix(path.Dir(file.path), ".")
		p := packages[dir]
		p.path, p.files = dir, append(p.files, file)
		packages[dir] = p
		return nil
	})
	return packages, err
})

func nested(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// eachPackage calls f with every package in order.
func eachPackage(t *testing.T, f func(p goPackage)) {
	t.Helper()
	packages, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		f(packages[name])
	}
}

// imports returns the import paths of f.
func (f goFile) imports(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, spec := range f.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		out = append(out, name)
	}
	return out
}

// ours returns the path of an import within this module.
func ours(importPath string) (string, bool) {
	if importPath == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// texts calls f with every string literal of a file that is not an import path or a struct tag.
func (f goFile) texts(use func(text string)) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				if text, err := strconv.Unquote(n.Value); err == nil {
					use(text)
				}
			}
		}
		return true
	})
}
