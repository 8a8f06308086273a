package message

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Selection is a question a client can draw without knowing who asked: a title and choices (invariant 45).
type Selection struct {
	Title    string   `json:"title"`
	Choices  []Choice `json:"choices"`           // at least one
	Multiple bool     `json:"multiple,omitzero"` // more than one id may be picked
	Other    string   `json:"other,omitzero"`    // placeholder under which the participant's own words are accepted
}

// A Choice is one answer that can be picked.
type Choice struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitzero"`
}

// A SelectionReply answers a [Selection]. Picked ids and own words stay apart, so that text that looks like an id stays
// text.
type SelectionReply struct {
	Picked []string `json:"picked"`
	Other  string   `json:"other,omitzero"`
}

// Validate reports the first rule that s breaks.
func (s Selection) Validate() error {
	if blank(s.Title) {
		return errors.New("selection.title is blank")
	}
	if len(s.Choices) == 0 {
		return errors.New("selection.choices is empty")
	}
	if s.Other != "" && blank(s.Other) {
		return errors.New("selection.other is blank")
	}
	seen := make(map[string]bool, len(s.Choices))
	for i, c := range s.Choices {
		switch {
		case c.ID == "":
			return fmt.Errorf("selection.choices[%d].id is empty", i)
		case seen[c.ID]:
			return fmt.Errorf("selection.choices[%d].id %q is used twice", i, c.ID)
		case blank(c.Label):
			return fmt.Errorf("selection.choices[%d].label is blank", i)
		case c.Description != "" && blank(c.Description):
			return fmt.Errorf("selection.choices[%d].description is blank", i)
		}
		seen[c.ID] = true
	}
	return nil
}

// Check reports why r does not answer s, or nil.
func (s Selection) Check(r SelectionReply) error {
	if len(r.Picked) == 0 && blank(r.Other) {
		return errors.New("reply picks nothing and says nothing")
	}
	if len(r.Picked) > 1 && !s.Multiple {
		return fmt.Errorf("reply picks %d choices, the selection takes one", len(r.Picked))
	}
	if r.Other != "" && s.Other == "" {
		return errors.New("reply has own words, the selection takes only its choices")
	}
	for i, id := range r.Picked {
		if !slices.ContainsFunc(s.Choices, func(c Choice) bool { return c.ID == id }) {
			return fmt.Errorf("picked[%d] %q is not one of the choices", i, id)
		}
		if slices.Contains(r.Picked[:i], id) {
			return fmt.Errorf("picked[%d] %q is picked twice", i, id)
		}
	}
	return nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
