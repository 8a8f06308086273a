package main

import (
	"strings"
	"testing"
)

func TestReadConfig(t *testing.T) {
	for name, test := range map[string]struct {
		context map[string]any
		wants   []string
	}{
		"nothing":       {map[string]any{}, []string{"jwtIssuer is missing", "jwtAudience is missing", "-c jwtAudience="}},
		"empty":         {map[string]any{"jwtIssuer": "", "jwtAudience": "x"}, []string{"jwtIssuer is missing"}},
		"issuer":        {map[string]any{"jwtIssuer": "http://example.com", "jwtAudience": "x"}, []string{"want an https URL"}},
		"stage":         {map[string]any{"stage": "Prod!"}, []string{`stage is "Prod!"`}},
		"arch":          {map[string]any{"arch": "x86"}, []string{"arm64 or amd64"}},
		"retention":     {map[string]any{"retentionDays": "31"}, []string{`retentionDays is "31"`, "30"}},
		"step":          {map[string]any{"stepSeconds": "5"}, []string{`stepSeconds is "5"`, "15 to 900"}},
		"two keys":      {map[string]any{"openaiApiKey": "a", "openaiKeyParameter": "b"}, []string{"give one"}},
		"bare domain":   {map[string]any{"domain": "api.example.com"}, []string{"need each other"}},
		"wake path":     {map[string]any{"wakeOff": "queue,bell"}, []string{`"bell"`, "watchdog"}},
		"no text":       {map[string]any{"model": []any{}}, []string{"model is no text"}},
		"all is well":   {map[string]any{"retentionDays": 7.0, "jwtAudience": "a, b", "stage": "prod"}, nil},
		"loopback":      {map[string]any{"jwtIssuer": "http://127.0.0.1:8080"}, nil},
		"many problems": {map[string]any{"stage": "-", "arch": "-", "wakeOff": "-"}, []string{"stage", "arch", "wakeOff"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadConfig(func(key string) any {
				if v, ok := test.context[key]; ok {
					return v
				}
				if name == "nothing" {
					return nil
				}
				return required[key]
			})
			if (err != nil) != (test.wants != nil) {
				t.Fatalf("got %v, want %q", err, test.wants)
			}
			for _, want := range test.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want it to say %q", err, want)
				}
			}
		})
	}
}

// What is not built is said before anything is synthesised.
func TestFindCode(t *testing.T) {
	_, err := findCode(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "make functions") || !strings.Contains(err.Error(), "collect.zip") {
		t.Errorf("got %v, want an error that says what is missing and what makes it", err)
	}
}
