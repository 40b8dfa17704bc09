package report

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"time"
)

// The elements of JUnit's XML, in the form that CI systems read. Source: the
// schema of the Jenkins xUnit plugin (junit-10.xsd), and GitLab's "Unit test
// reports" for the attribute file.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	File      string        `xml:"file,attr,omitempty"`
	Line      int           `xml:"line,attr,omitempty"`
	Failure   *junitProblem `xml:"failure"`
	Error     *junitProblem `xml:"error"`
	Out       string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// SmokeJUnit writes the answers of smoke checks as JUnit XML: a suite per
// component, a case per check. What does not hold is a failure, what the cluster
// did not answer an error; both say what was seen and where the check is
// declared.
func SmokeJUnit(w io.Writer, s Smoke) error {
	total := 0.0
	document := junitSuites{Name: "ladder smoke " + s.Environment}
	for _, c := range s.Components {
		suite := junitSuite{Name: c.Name, Timestamp: junitTimestamp(s.Started)}
		seconds := 0.0
		for _, check := range c.Checks {
			one := junitCaseOf(c.Name, check)
			suite.Tests++
			seconds += check.Seconds
			switch {
			case one.Error != nil:
				suite.Errors++
			case one.Failure != nil:
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, one)
		}
		suite.Time = junitSeconds(seconds)
		total += seconds
		document.Tests += suite.Tests
		document.Failures += suite.Failures
		document.Errors += suite.Errors
		document.Suites = append(document.Suites, suite)
	}
	document.Time = junitSeconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitCaseOf(component string, check SmokeCheck) junitCase {
	one := junitCase{
		Name: Plain(check.Check), ClassName: component, Time: junitSeconds(check.Seconds),
		File: check.Position.File, Line: check.Position.Line,
	}
	message := Plain(check.Message)
	if check.OK {
		one.Out = message
		return one
	}
	lines := []string{Plain(check.Check) + ": " + message}
	if check.Position.File != "" {
		lines = append(lines, "declared at "+check.Position.String())
	}
	problem := &junitProblem{Message: message, Type: check.Kind, Text: strings.Join(lines, "\n")}
	if check.Unanswered {
		one.Error = problem
	} else {
		one.Failure = problem
	}
	return one
}

// junitTimestamp prints an instant without its zone, which the schema does not
// allow.
func junitTimestamp(t Time) string {
	if time.Time(t).IsZero() {
		return "1970-01-01T00:00:00"
	}
	return time.Time(t).UTC().Format("2006-01-02T15:04:05")
}

func junitSeconds(seconds float64) string { return strconv.FormatFloat(seconds, 'f', 3, 64) }
