package message_test

import (
	"strings"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

func TestSelectionValidate(t *testing.T) {
	t.Parallel()
	valid := func() message.Selection {
		return message.Selection{Title: "Which?", Choices: []message.Choice{{ID: "a", Label: "A"}, {ID: "b", Label: "B", Description: "d"}}, Other: "else"}
	}
	if err := valid().Validate(); err != nil {
		t.Errorf("a good selection: %v", err)
	}
	for name, test := range map[string]struct {
		spoil func(*message.Selection)
		want  string
	}{
		"blank title":       {func(s *message.Selection) { s.Title = " \n" }, "title"},
		"no choices":        {func(s *message.Selection) { s.Choices = nil }, "choices"},
		"empty id":          {func(s *message.Selection) { s.Choices[1].ID = "" }, "choices[1].id"},
		"id used twice":     {func(s *message.Selection) { s.Choices[1].ID = "a" }, "choices[1].id"},
		"blank label":       {func(s *message.Selection) { s.Choices[0].Label = "\t" }, "choices[0].label"},
		"blank description": {func(s *message.Selection) { s.Choices[0].Description = " " }, "choices[0].description"},
		"blank other":       {func(s *message.Selection) { s.Other = " " }, "other"},
	} {
		s := valid()
		test.spoil(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "selection."+test.want) {
			t.Errorf("%s: error %v does not name selection.%s", name, err, test.want)
		}
	}
}

func TestSelectionCheck(t *testing.T) {
	t.Parallel()
	choices := []message.Choice{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}}
	one := message.Selection{Title: "t", Choices: choices}
	many := message.Selection{Title: "t", Choices: choices, Multiple: true}
	open := message.Selection{Title: "t", Choices: choices, Other: "else"}
	for name, test := range map[string]struct {
		selection message.Selection
		reply     message.SelectionReply
		want      string // "" is an answer
	}{
		"one":                      {one, message.SelectionReply{Picked: []string{"b"}}, ""},
		"nothing":                  {one, message.SelectionReply{}, "nothing"},
		"two of one":               {one, message.SelectionReply{Picked: []string{"a", "b"}}, "takes one"},
		"two of many":              {many, message.SelectionReply{Picked: []string{"b", "a"}}, ""},
		"twice":                    {many, message.SelectionReply{Picked: []string{"a", "a"}}, "picked[1]"},
		"unknown":                  {many, message.SelectionReply{Picked: []string{"a", "c"}}, "picked[1]"},
		"label instead of id":      {one, message.SelectionReply{Picked: []string{"A"}}, "picked[0]"},
		"own words":                {open, message.SelectionReply{Other: "c"}, ""},
		"own words like an id":     {open, message.SelectionReply{Other: "a"}, ""},
		"own words and a choice":   {open, message.SelectionReply{Picked: []string{"a"}, Other: "and more"}, ""},
		"blank words":              {open, message.SelectionReply{Other: " "}, "nothing"},
		"own words where none fit": {one, message.SelectionReply{Other: "c"}, "own words"},
	} {
		err := test.selection.Check(test.reply)
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v does not contain %q", name, err, test.want)
		}
	}
}
