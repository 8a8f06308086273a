package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
)

// required is the context that a deployment must have.
var required = map[string]any{"jwtIssuer": "https://issuer.example.com/", "jwtAudience": "stepwell"}

// newStacks makes the stacks with some context besides what is required, over stubs instead of functions.
func newStacks(t *testing.T, context map[string]any) *Stacks {
	t.Helper()
	dist := t.TempDir()
	for _, name := range functionNames {
		if err := os.MkdirAll(filepath.Join(dist, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dist, name, "bootstrap"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config, err := ReadConfig(func(key string) any {
		if v, ok := context[key]; ok {
			return v
		}
		if key == "dist" {
			return dist
		}
		return required[key]
	})
	if err != nil {
		t.Fatal(err)
	}
	stacks, err := NewStacks(NewApp(), config)
	if err != nil {
		t.Fatal(err)
	}
	return stacks
}

// A resource is one of a template, as JSON has it.
type resource struct {
	id         string
	kind       string
	properties map[string]any
	all        map[string]any
}

// text is the properties as JSON, to look for words in.
func (r resource) text(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(r.properties)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// resources returns those of a kind whose id starts with prefix.
func resources(t *testing.T, template assertions.Template, kind, prefix string) []resource {
	t.Helper()
	text, err := json.Marshal(template.ToJSON())
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Resources map[string]map[string]any `json:"Resources"`
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	var out []resource
	for id, r := range parsed.Resources {
		if (kind == "" || r["Type"] == kind) && strings.HasPrefix(id, prefix) {
			properties, _ := r["Properties"].(map[string]any)
			out = append(out, resource{id: id, kind: r["Type"].(string), properties: properties, all: r})
		}
	}
	return out
}

// one returns the only resource of a kind whose id starts with prefix.
func one(t *testing.T, template assertions.Template, kind, prefix string) resource {
	t.Helper()
	found := resources(t, template, kind, prefix)
	if len(found) != 1 {
		t.Fatalf("there are %d resources of %s that start with %q, want one", len(found), kind, prefix)
	}
	return found[0]
}

// at follows keys and indexes into properties.
func (r resource) at(t *testing.T, path ...any) any {
	t.Helper()
	var v any = r.properties
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("%s: %v is not in %v", r.id, path, r.properties)
			}
			v = m[s]
		case int:
			l, ok := v.([]any)
			if !ok || s >= len(l) {
				t.Fatalf("%s: %v is not in %v", r.id, path, r.properties)
			}
			v = l[s]
		}
	}
	return v
}
