package settings

import "strings"

// celHelpers are the functions of lua/cel.lua that a script calls, and those that
// they call, behind the comment that explains them.
func celHelpers(script string) string {
	parts := strings.Split(celLua, "\nlocal function ")
	needed := map[int]bool{}
	var need func(text string)
	need = func(text string) {
		for i, part := range parts[1:] {
			name, _, _ := strings.Cut(part, "(")
			if !needed[i] && strings.Contains(text, name+"(") {
				needed[i] = true
				need(part)
			}
		}
	}
	need(script)
	out := []string{parts[0]}
	for i, part := range parts[1:] {
		if needed[i] {
			out = append(out, "local function "+strings.TrimRight(part, "\n"))
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// indented moves the lines of a script to the right, where none of them can be in
// a string.
func indented(text string) string {
	if strings.Contains(text, "[[") || strings.Contains(text, "[=") || strings.Contains(text, "\\\n") {
		return text
	}
	lines := strings.SplitAfter(strings.TrimRight(text, "\n")+"\n", "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "")
}
