package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
)

// maxMessage bounds the messages that go into states and reports, in bytes.
const maxMessage = 600

// objectError says in the words of the API server why an object could not be
// applied, without what may be secret in it.
func objectError(resource finding.Resource, obj *unstructured.Unstructured, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var already *executor.ObjectError
	if errors.As(err, &already) {
		return err
	}
	return &executor.ObjectError{Object: resource, Message: shorten(redact(reason(resource, err), obj))}
}

var (
	webhookCall    = lazyregexp.New(`failed calling webhook "([^"]+)": (?:failed to call webhook: )?(.*)`)
	missingNS      = lazyregexp.New(`^namespaces "([^"]+)" not found$`)
	terminatingNS  = lazyregexp.New(`namespace (\S+) because it is being terminated`)
	requestPrefix  = lazyregexp.New(`^(Post|Put|Patch|Get|Delete) "[^"]*": `)
	internalPrefix = "Internal error occurred: "
	// wrongType is how server-side apply says that a value has another type than
	// the schema; it prints the value as Go does. Source:
	// sigs.k8s.io/structured-merge-diff/v6/typed, "expected %s, got %v".
	wrongType      = lazyregexp.New(`(?s)(expected [a-z ]+), got (&value\.valueUnstructured\{Value:|&\{)?(.*)$`)
	printedNumber  = lazyregexp.New(`^-?[0-9][0-9.e+]*\}`)
	printedBoolean = lazyregexp.New(`^(true|false)\}`)
)

// reason words an API error for people.
func reason(resource finding.Resource, err error) string {
	var unserved *unservedError
	if errors.As(err, &unserved) {
		return unserved.Error()
	}
	message := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if m := status.Status().Message; m != "" {
			message = m
		}
		if resource.Group == "" && resource.Kind == "Secret" && apierrors.IsInvalid(err) {
			message = invalidFields(status.Status())
		}
	}
	message = strings.TrimPrefix(message, internalPrefix)
	message = requestPrefix.ReplaceAllString(message, "")
	message = wrongType.ReplaceAllStringFunc(message, func(text string) string {
		m := wrongType.FindStringSubmatch(text)
		return m[1] + ", got " + typeOf(m[3])
	})
	if m := missingNS.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("namespace %s does not exist", m[1])
	}
	if m := terminatingNS.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("namespace %s is being deleted", m[1])
	}
	if m := webhookCall.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("webhook %s cannot be called: %s", m[1], m[2])
	}
	return message
}

// typeOf names the type of a value that Go printed, so that the value itself is
// not told.
func typeOf(printed string) string {
	switch {
	case strings.HasPrefix(printed, "map["):
		return "a map"
	case strings.HasPrefix(printed, "["):
		return "a list"
	case printedNumber.MatchString(printed):
		return "a number"
	case printedBoolean.MatchString(printed):
		return "a boolean"
	case strings.HasPrefix(printed, "<nil>"), strings.HasPrefix(printed, "interface {}(nil)"):
		return "null"
	}
	return "text"
}

// invalidFields tells which fields of a Secret are wrong without what is in
// them, which the API server quotes. What names no field comes from an admission
// policy, whose words are its author's.
func invalidFields(status metav1.Status) string {
	var fields, others []string
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			switch {
			case cause.Field != "":
				fields = append(fields, fmt.Sprintf("%s (%s)", cause.Field, cause.Type))
			case cause.Message != "":
				others = append(others, cause.Message)
			}
		}
	}
	switch {
	case len(fields) > 0:
		return "is invalid: " + strings.Join(append(fields, others...), ", ")
	case len(others) > 0:
		return strings.Join(others, "; ")
	}
	return "is invalid"
}

// redact removes from a message what may be secret in the object that it is about.
func redact(message string, obj *unstructured.Unstructured) string {
	if obj == nil {
		return message
	}
	var held confidential.Values
	held.Add(obj.Object)
	return held.Redact(message)
}

// shorten makes a message one line of bounded length.
func shorten(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage
	for end > 0 && message[end]&0xC0 == 0x80 { // not inside a character
		end--
	}
	return message[:end] + " ..."
}
