package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// smokes is an answer of every sort, with texts that mean something to XML and
// to terminals.
func smokes() report.Smoke {
	holds := report.NewSmokeCheck(model.Check{Kind: model.CheckSecret, ObjectKind: "Secret", Namespace: "a", Name: "s"}, 1, 1500*time.Millisecond)
	holds.OK, holds.Message = true, "has user, password"
	fails := report.NewSmokeCheck(model.Check{Kind: model.CheckHTTP, URL: "https://a/?x=1&y=<2>", Position: finding.Position{File: "a & b/component.yaml", Line: 12}}, 3, 250*time.Millisecond)
	fails.Message = "answers \"503\"\x1b[2J ]]> <b>not</b> 200\x00"
	silent := report.NewSmokeCheck(model.Check{Kind: model.CheckTCP, Address: "db:1"}, 1, 0)
	silent.Message, silent.Unanswered = "the cluster does not answer", true
	s := report.Smoke{
		Result: report.SmokeFailed, Environment: "dev", Cluster: "kind-x", Started: report.Time(time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)),
		Components: []report.SmokeComponent{
			{Name: "data-smoke", Phase: "299", Validates: []string{"postgres", "redis"}, Checks: []report.SmokeCheck{holds, fails}},
			{Name: "apps-smoke", Phase: "699", Checks: []report.SmokeCheck{silent}},
		},
	}
	s.Count()
	return s
}

func TestSmokeText(t *testing.T) {
	var b bytes.Buffer
	if err := report.SmokeText(&b, smokes(), report.Style{}); err != nil {
		t.Fatal(err)
	}
	want := `data-smoke 299 validates postgres, redis
  ok   secret Secret a/s: has user, password
  FAIL http https://a/?x=1&y=<2>: answers "503" [2J ]]> <b>not</b> 200 
       declared at a & b/component.yaml:12
apps-smoke 699
  FAIL tcp db:1: the cluster does not answer

3 checks of 2 components on kind-x: 2 do not hold
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestSmokeJUnit reads the XML as a CI system does, and finds every text as it
// was, but for what XML cannot hold.
func TestSmokeJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := report.SmokeJUnit(&b, smokes()); err != nil {
		t.Fatal(err)
	}
	type problem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Suites   []struct {
			Name      string `xml:"name,attr"`
			Tests     int    `xml:"tests,attr"`
			Timestamp string `xml:"timestamp,attr"`
			Time      string `xml:"time,attr"`
			Cases     []struct {
				Name    string   `xml:"name,attr"`
				Class   string   `xml:"classname,attr"`
				File    string   `xml:"file,attr"`
				Line    int      `xml:"line,attr"`
				Failure *problem `xml:"failure"`
				Error   *problem `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	text := b.String()
	if !strings.HasPrefix(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") {
		t.Errorf("no XML declaration: %.60s", text)
	}
	strict := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := strict.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, text)
		}
	}
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 3 || got.Failures != 1 || got.Errors != 1 || len(got.Suites) != 2 {
		t.Fatalf("got %+v", got)
	}
	first := got.Suites[0]
	if first.Name != "data-smoke" || first.Tests != 2 || first.Timestamp != "2026-01-02T03:04:05" || first.Time != "1.750" {
		t.Errorf("suite: %+v", first)
	}
	fails := first.Cases[1]
	want := problem{
		Message: `answers "503" [2J ]]> <b>not</b> 200 `,
		Text:    "http https://a/?x=1&y=<2>: answers \"503\" [2J ]]> <b>not</b> 200 \ndeclared at a & b/component.yaml:12",
	}
	if fails.Failure == nil {
		t.Fatalf("no failure: %+v", fails)
	}
	if diff := cmp.Diff(want, *fails.Failure); diff != "" {
		t.Error(diff)
	}
	if fails.Name != "http https://a/?x=1&y=<2>" || fails.File != "a & b/component.yaml" || fails.Line != 12 || fails.Class != "data-smoke" {
		t.Errorf("case: %+v", fails)
	}
	if got.Suites[1].Cases[0].Error == nil || first.Cases[0].Failure != nil {
		t.Errorf("cases: %+v", got.Suites)
	}
}
