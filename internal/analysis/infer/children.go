package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/operators"
)

// Children: the Secrets, ConfigMaps, Services and Namespaces that operators make from custom
// resources under a name that follows from the resource.

func providesChildren(o *object, add func(key)) {
	if !customGroup(o.g) {
		return
	}
	for _, m := range operators.Of(o.g, o.k).Makes {
		children(m, o, add)
	}
}

// children adds what an operator makes of an object.
func children(m operators.Made, o *object, add func(key)) {
	if m.Each == "" {
		origin{object: o}.make(m, add)
		return
	}
	switch entries := value(o.root(), strings.Split(m.Each, ".")...).(type) {
	case []any:
		for _, e := range entries {
			item, _ := e.(map[string]any)
			origin{object: o, item: item}.make(m, add)
		}
	case map[string]any:
		for _, name := range sortedKeys(entries) {
			item, _ := entries[name].(map[string]any)
			origin{object: o, item: item, key: name}.make(m, add)
		}
	}
}

// origin is what one thing is made of: an object, and an entry of a list or map in it.
type origin struct {
	*object
	item map[string]any
	key  string // of an entry of a map
}

func (o origin) make(m operators.Made, add func(key)) {
	if m.If != "" && !o.set(m.If) || m.Unless != "" && o.set(m.Unless) {
		return
	}
	name, ns := o.fill(m.Name), o.namespace()
	if m.Namespace != "" {
		ns = either(o.fill(m.Namespace), ns)
	}
	switch {
	case name == "":
	case m.Kind == "Secret":
		add(secretKey(ns, name))
	case m.Kind == "ConfigMap":
		add(configMapKey(ns, name))
	case m.Kind == "Service":
		add(serviceKey(ns, name))
	case m.Kind == "Namespace":
		add(namespaceKey(name))
	}
}

// at is the value of a field of the object or, after "item.", of the entry.
func (o origin) at(field string) any {
	if inner, ok := strings.CutPrefix(field, "item."); ok {
		return value(o.item, strings.Split(inner, ".")...)
	}
	return value(o.root(), strings.Split(field, ".")...)
}

// set reports whether a field says something.
func (o origin) set(field string) bool {
	switch v := o.at(field).(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	default:
		return true
	}
}

// fill fills a template in; it is empty where a field of it is.
func (o origin) fill(template string) string {
	var out strings.Builder
	for rest := template; ; {
		before, after, ok := strings.Cut(rest, "{")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		field, tail, ok := strings.Cut(after, "}")
		if !ok {
			return ""
		}
		field, otherwise, optional := strings.Cut(field, "|")
		var part string
		switch field {
		case "name":
			part = o.name
		case "namespace":
			part = o.namespace()
		case "key":
			part = o.key
		default:
			part, _ = o.at(field).(string)
		}
		if part == "" && !optional {
			return ""
		}
		out.WriteString(either(part, otherwise))
		rest = tail
	}
}
