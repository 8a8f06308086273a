// Package setting reads configurations from flags and the environment.
package setting

import (
	"errors"
	"fmt"
)

// An Origin says where a value comes from.
type Origin string

// The origins, the strongest first.
const (
	FromFlag    Origin = "flag"
	FromEnv     Origin = "environment"
	FromDefault Origin = "default"
)

// A Setting is one value of a configuration and its origin.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"` // a secret is shown as "(set)"
	Origin Origin `json:"origin"`
}

// A Reader reads settings and remembers them and what is wrong with them.
type Reader struct {
	Flags    map[string]string   // keyed by the variable that they overrule
	Env      func(string) string // an empty value counts as not set
	Settings []Setting
	errs     []error
	hide     bool // the next value is a secret
}

// Err returns everything that was wrong, nil when nothing was.
func (r *Reader) Err() error { return errors.Join(r.errs...) }

// Secret hides the next value that is read.
func (r *Reader) Secret() *Reader {
	r.hide = true
	return r
}

// Text returns the value of a variable, or the fallback.
func (r *Reader) Text(name, fallback string) string {
	value, origin := fallback, FromDefault
	if v := r.Flags[name]; v != "" {
		value, origin = v, FromFlag
	} else if v := r.Env(name); v != "" {
		value, origin = v, FromEnv
	}
	shown := value
	if r.hide && value != "" {
		shown = "(set)"
	}
	r.hide = false
	r.Settings = append(r.Settings, Setting{Name: name, Value: shown, Origin: origin})
	return value
}

// Read parses a value. A flag is named as such in its error, so that nobody looks for it in the environment.
func Read[T any](r *Reader, name, fallback string, parse func(string) (T, error)) T {
	value, err := parse(r.Text(name, fallback))
	if err != nil {
		where := name
		if r.Settings[len(r.Settings)-1].Origin == FromFlag {
			where = "the flag for " + name
		}
		r.errs = append(r.errs, fmt.Errorf("%s %w", where, err))
	}
	return value
}
