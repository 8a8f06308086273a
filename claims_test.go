package stepwell_test

import (
	"errors"
	"go/ast"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Tests are the names of test functions by package, and every text that tests and suites hold, for the names of subtests.
type tests struct {
	functions map[string][]string
	texts     map[string]bool
}

func findTests(t *testing.T) tests {
	t.Helper()
	found := tests{functions: map[string][]string{}, texts: map[string]bool{}}
	name := regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)`)
	eachPackage(t, func(p goPackage) {
		for _, f := range p.files {
			if !f.test && !p.forTests() {
				continue
			}
			f.texts(func(text string) { found.texts[strings.ReplaceAll(text, " ", "_")] = true })
			for _, decl := range f.ast.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && name.MatchString(fn.Name.Name) {
					found.functions[p.path] = append(found.functions[p.path], fn.Name.Name)
				}
			}
		}
	})
	return found
}

// missing says which part of a claim, TestName or TestName/subtest, does not exist in the package, which is named by the end
// of its path; an empty name means any package.
func (ts tests) missing(inPackage, claim string) string {
	function, subtests, _ := strings.Cut(claim, "/")
	known := false
	for name, functions := range ts.functions {
		if inPackage == "" || name == inPackage || strings.HasSuffix(name, "/"+inPackage) {
			known = known || slices.Contains(functions, function)
		}
	}
	if !known {
		return "test function " + function
	}
	for part := range strings.SplitSeq(subtests, "/") {
		if part != "" && !ts.texts[strings.ReplaceAll(part, " ", "_")] {
			return "subtest " + part
		}
	}
	return ""
}

// claim is one "TestName" or "package: TestName/subtest" of a table cell.
var claim = regexp.MustCompile(`(?:([\w/]+): *)?\b((?:Test|Fuzz|Benchmark|Example)\w*(?:/[^,;|\s]+)*)`)

// Every invariant of docs/invariants.md is held by a test that exists, or says why none can hold it yet.
func TestInvariantsAreTested(t *testing.T) {
	t.Parallel()
	rows := readClaims(t, "docs/invariants.md")
	checkClaims(t, findTests(t), "invariant", rows)
}

// conformanceLines is how many behaviours the checklist has.
const conformanceLines = 233

// Every line of docs/conformance.md is covered by a test that exists, or says why it is left for later; none is forgotten.
func TestConformanceIsMapped(t *testing.T) {
	t.Parallel()
	rows := readClaims(t, "docs/conformance.md")
	if len(rows) == 0 {
		return
	}
	checkClaims(t, findTests(t), "line", rows)
	seen := map[int]bool{}
	for _, row := range rows {
		for n := row.first; n <= row.last; n++ {
			if seen[n] {
				t.Errorf("line %d is mapped twice", n)
			}
			seen[n] = true
		}
	}
	for n := 1; n <= conformanceLines; n++ {
		if !seen[n] {
			t.Errorf("line %d is not mapped", n)
		}
	}
}

func checkClaims(t *testing.T, known tests, what string, rows []claimRow) {
	t.Helper()
	for _, row := range rows {
		claims := claim.FindAllStringSubmatch(row.cell, -1)
		_, later, postponed := strings.Cut(row.cell, "later:")
		if len(claims) == 0 && (!postponed || strings.TrimSpace(later) == "") {
			t.Errorf("%s %d: names no test and no reason after \"later:\"", what, row.first)
		}
		inPackage := ""
		for _, c := range claims {
			if c[1] != "" && c[1] != "later" {
				inPackage = c[1]
			}
			if missing := known.missing(inPackage, c[2]); missing != "" {
				t.Errorf("%s %d: there is no %s in %s", what, row.first, missing, orAny(inPackage))
			}
		}
	}
}

func orAny(name string) string {
	if name == "" {
		return "any package"
	}
	return name
}

// A claimRow is one table row: the numbers in its first cell, and its last cell, which names the tests.
type claimRow struct {
	first, last int
	cell        string
}

// readClaims returns the rows of the tables of a document whose first cell is a number or a range of numbers. There are none
// when there is no such document.
func readClaims(t *testing.T, name string) []claimRow {
	t.Helper()
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	numbers := regexp.MustCompile(`^\| *(\d+)(?: *[-–] *(\d+))? *\|`)
	var rows []claimRow
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		m := numbers.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		row := claimRow{first: number(t, m[1]), last: number(t, m[1])}
		if m[2] != "" {
			row.last = number(t, m[2])
		}
		cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
		row.cell = strings.ReplaceAll(cells[len(cells)-1], "`", "")
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Errorf("%s has no table row that begins with a number", name)
	}
	return rows
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
