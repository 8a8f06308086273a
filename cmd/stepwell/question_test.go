package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	choices := []message.Choice{{ID: "red", Label: "Red"}, {ID: "3", Label: "Dark green"}, {ID: "blue", Label: "Blue"}}
	for _, tt := range []struct {
		name      string
		multiple  bool
		other     string
		text      string
		picked    []string
		own, fail string
	}{
		{name: "a number", text: "1", picked: []string{"red"}},
		{name: "an id wins over a number", text: "3", picked: []string{"3"}},
		{name: "a label", text: "dark GREEN", picked: []string{"3"}},
		{name: "several", multiple: true, text: "1, blue", picked: []string{"red", "blue"}},
		{name: "several where one is wanted", text: "1,2", fail: "takes one"},
		{name: "twice the same", multiple: true, text: "1,red", fail: "twice"},
		{name: "own words", other: "say", text: "none of them, really", picked: []string{}, own: "none of them, really"},
		{name: "own words that are not wanted", text: "mauve", fail: "number from 1 to 3"},
		{name: "a number out of range", text: "4", fail: "number from 1 to 3"},
		{name: "a number out of range may be own words", other: "say", text: "4", picked: []string{}, own: "4"},
		{name: "nothing", other: "say", text: "  ", fail: "says nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := message.Selection{Title: "t", Choices: choices, Multiple: tt.multiple, Other: tt.other}
			got, err := parseAnswer(s, tt.text)
			if tt.fail != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fail) {
					t.Fatalf("parseAnswer = %+v, %v; want an error about %q", got, err, tt.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(message.SelectionReply{Picked: tt.picked, Other: tt.own}, got); diff != "" {
				t.Errorf("parseAnswer (-want +got):\n%s", diff)
			}
		})
	}
}

// A parked call without a selection is background work, whatever its tool is called (invariant 45).
func TestWriteQuestion_backgroundWorkAsksNothing(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := writeQuestion(&b, style{}, api.ParkedCall{Tool: "ask", CallID: "c"}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "?") || !strings.Contains(got, "ask waits") {
		t.Errorf("it is shown as %q", got)
	}
}

// What a model or a participant writes must not steer the terminal.
func TestPrintable(t *testing.T) {
	t.Parallel()
	got := printable("a\x1b[2Jb\x07\r\u009bc\u202ed\te\n")
	if want := "a[2Jbcd\te\n"; got != want {
		t.Errorf("printable = %q, want %q", got, want)
	}
	if got, want := oneLine("a\n\tb  c", 80), "a b c"; got != want {
		t.Errorf("oneLine = %q, want %q", got, want)
	}
	if got, want := oneLine("äöüß", 3), "äö…"; got != want {
		t.Errorf("oneLine = %q, want %q", got, want)
	}
}
