package stepwell_test

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A union is one sealed interface: its variants are the types with its marker method.
type union struct {
	marker   string
	embeds   []string
	variants []string
}

// unionsOf returns the closed unions that a package declares.
func unionsOf(p goPackage) map[string]union {
	methods := map[string][]string{} // by name, the receivers
	unions := map[string]union{}
	for _, f := range p.source() {
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil && decl.Type.Params.NumFields() == 0 && decl.Type.Results.NumFields() == 0 {
					methods[decl.Name.Name] = append(methods[decl.Name.Name], typeName(decl.Recv.List[0].Type))
				}
			case *ast.GenDecl:
				if decl.Tok != token.TYPE {
					continue
				}
				for _, spec := range decl.Specs {
					spec, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					sealed, isInterface := spec.Type.(*ast.InterfaceType)
					if isInterface && (declares(decl.Doc) || declares(spec.Doc)) {
						unions[spec.Name.Name] = sealedUnion(sealed)
					}
				}
			}
		}
	}
	for name, u := range unions {
		u.variants = slices.Sorted(slices.Values(methods[u.marker]))
		unions[name] = u
	}
	return unions
}

func sealedUnion(i *ast.InterfaceType) union {
	var u union
	for _, m := range i.Methods.List {
		switch {
		case len(m.Names) == 0:
			u.embeds = append(u.embeds, typeName(m.Type))
		case !ast.IsExported(m.Names[0].Name):
			u.marker = m.Names[0].Name
		}
	}
	return u
}

func declares(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//sumtype:decl") })
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	}
	return ""
}

// A closed union is sealed by a marker of its own and its variants are values: a shared marker would make one union's
// variants another's, and a pointer could be nil.
func TestUnionsAreSealed(t *testing.T) {
	t.Parallel()
	count := 0
	eachPackage(t, func(p goPackage) {
		owner := map[string]string{}
		for name, u := range unionsOf(p) {
			count++
			switch {
			case u.marker == "":
				t.Errorf("%s.%s is declared closed and has no unexported method", p.path, name)
			case owner[u.marker] != "":
				t.Errorf("%s: %s and %s share the marker %s", p.path, name, owner[u.marker], u.marker)
			case len(u.variants) == 0:
				t.Errorf("%s.%s has no variant", p.path, name)
			}
			owner[u.marker] = name
			for _, v := range u.variants {
				if strings.HasPrefix(v, "*") {
					t.Errorf("%s.%s: the variant %s is a pointer", p.path, name, v)
				}
			}
		}
	})
	if count == 0 {
		t.Error("found no union: the test looks in the wrong place")
	}
}

// Where a union has a wire form, its codec table lists every variant exactly once.
func TestUnionCodecsCoverEveryVariant(t *testing.T) {
	t.Parallel()
	count := 0
	eachPackage(t, func(p goPackage) {
		unions := unionsOf(p)
		tables := map[string][]string{}
		for _, f := range p.source() {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if table, name, variant := codecCase(n); table {
					tables[name] = append(tables[name], variant)
				}
				return true
			})
		}
		for name, variants := range tables {
			u, ok := unions[name]
			if !ok {
				continue // of another package, or of a test
			}
			count++
			// A union that is part of another one may have a table of its own, as effects have beside objects.
			for part, inner := range unions {
				if slices.Contains(inner.embeds, name) {
					variants = append(variants, tables[part]...)
				}
			}
			listed := map[string]int{}
			for _, v := range variants {
				listed[v]++
			}
			for _, v := range u.variants {
				// An open union has one variant for whatever the table does not list.
				if listed[v] != 1 && v != "UnknownEvent" {
					t.Errorf("%s.%s: the codec lists %s %d times", p.path, name, v, listed[v])
				}
				delete(listed, v)
			}
			for v := range maps.Keys(listed) {
				t.Errorf("%s.%s: the codec lists %s, which is no variant", p.path, name, v)
			}
		}
	})
	if count == 0 {
		t.Error("found no codec: the test looks in the wrong place")
	}
}

// codecCase recognises union.Kind[Union, Variant](…) and its sisters.
func codecCase(n ast.Node) (ok bool, name, variant string) {
	index, isIndex := n.(*ast.IndexListExpr)
	if !isIndex || len(index.Indices) != 2 {
		return false, "", ""
	}
	fn, isSelector := index.X.(*ast.SelectorExpr)
	if !isSelector || typeName(fn.X) != "union" {
		return false, "", ""
	}
	return true, typeName(index.Indices[0]), typeName(index.Indices[1])
}
