package report

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Picture is a ladder drawn in text for documents: one frame per step, the
// frames joined by arrows, one box per component.
type Picture struct {
	Title  string
	Frames []Frame
	// Notes stand in a frame of their own at the end.
	Notes []string
}

// Frame is one step of the picture.
type Frame struct {
	Heading string
	// About says what the step is for; empty for nothing.
	About string
	// Text says what must be true before the next frame; empty for nothing.
	Text  string
	Boxes []Box
}

// Box is one component of the picture.
type Box struct {
	Title string
	Lines []string
}

const (
	pictureWidth = 87 // outer columns, frame included: fits a page of a document
	boxesPerRow  = 3  // at most
	boxMargin    = 2  // between the frame and its outer boxes
	boxGap       = 2  // between two boxes
)

// WritePicture draws the ladder.
func WritePicture(w io.Writer, p Picture) error {
	var b strings.Builder
	inner := pictureWidth - 2
	if p.Title != "" {
		rule(&b, '┌', '┐', inner)
		line(&b, centre(p.Title, inner), inner)
		rule(&b, '└', '┘', inner)
		b.WriteByte('\n')
	}
	for i, f := range p.Frames {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", pictureWidth/2) + "│\n")
			b.WriteString(strings.Repeat(" ", pictureWidth/2) + "▼\n")
		}
		frame(&b, f, inner)
	}
	if len(p.Notes) > 0 {
		b.WriteByte('\n')
		rule(&b, '┌', '┐', inner)
		for _, note := range p.Notes {
			bullet(&b, note, inner)
		}
		rule(&b, '└', '┘', inner)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func frame(b *strings.Builder, f Frame, inner int) {
	rule(b, '┌', '┐', inner)
	for _, l := range wrap(f.Heading, inner-2) {
		line(b, " "+l, inner)
	}
	for _, l := range wrap(f.About, inner-2) {
		line(b, " "+l, inner)
	}
	rule(b, '├', '┤', inner)
	perRow := fitting(f.Boxes, inner)
	for start := 0; start < len(f.Boxes); start += perRow {
		row(b, f.Boxes[start:min(start+perRow, len(f.Boxes))], inner)
	}
	if len(f.Boxes) == 0 {
		line(b, "  "+nothing, inner)
	}
	if f.Text != "" {
		for i, l := range wrap(f.Text, inner-6) {
			lead := "  ⇒ "
			if i > 0 {
				lead = "    "
			}
			line(b, lead+l, inner)
		}
	}
	rule(b, '└', '┘', inner)
}

// boxWidth is the inner width of each of n boxes side by side.
func boxWidth(n, inner int) int {
	return (inner-2*boxMargin-boxGap*(n-1))/n - 2
}

// fitting is the greatest number of boxes in a row in which every title fits
// on one line; 1 where none does.
func fitting(boxes []Box, inner int) int {
	longest := 0
	for _, box := range boxes {
		longest = max(longest, utf8.RuneCountInString(box.Title))
	}
	n := min(boxesPerRow, max(len(boxes), 1))
	for n > 1 && longest > boxWidth(n, inner)-2 {
		n--
	}
	return n
}

// row draws up to three boxes side by side, equally wide and equally high.
func row(b *strings.Builder, boxes []Box, inner int) {
	width := boxWidth(len(boxes), inner)
	texts := make([][]string, len(boxes))
	height := 0
	for i, box := range boxes {
		texts[i] = wrap(box.Title, width-2)
		for _, l := range box.Lines {
			for j, part := range wrap(l, width-4) {
				lead := "• "
				if j > 0 {
					lead = "  "
				}
				texts[i] = append(texts[i], lead+part)
			}
		}
		height = max(height, len(texts[i]))
	}
	edge := func(left, right string) {
		parts := make([]string, len(boxes))
		for i := range parts {
			parts[i] = left + strings.Repeat("─", width) + right
		}
		line(b, strings.Repeat(" ", boxMargin)+strings.Join(parts, strings.Repeat(" ", boxGap)), inner)
	}
	edge("┌", "┐")
	for y := range height {
		parts := make([]string, len(boxes))
		for i := range parts {
			text := ""
			if y < len(texts[i]) {
				text = texts[i][y]
			}
			parts[i] = "│" + pad(" "+text, width) + "│"
		}
		line(b, strings.Repeat(" ", boxMargin)+strings.Join(parts, strings.Repeat(" ", boxGap)), inner)
	}
	edge("└", "┘")
}

func bullet(b *strings.Builder, text string, inner int) {
	for i, l := range wrap(text, inner-4) {
		lead := " • "
		if i > 0 {
			lead = "   "
		}
		line(b, lead+l, inner)
	}
}

func rule(b *strings.Builder, left, right rune, inner int) {
	b.WriteRune(left)
	b.WriteString(strings.Repeat("─", inner))
	b.WriteRune(right)
	b.WriteByte('\n')
}

func line(b *strings.Builder, text string, inner int) {
	b.WriteString("│" + pad(text, inner) + "│\n")
}

func centre(s string, width int) string {
	n := utf8.RuneCountInString(s)
	if n >= width {
		return s
	}
	return strings.Repeat(" ", (width-n)/2) + s
}

// pad fills or cuts a line to exactly width columns.
func pad(s string, width int) string {
	n := utf8.RuneCountInString(s)
	if n <= width {
		return s + strings.Repeat(" ", width-n)
	}
	return string([]rune(s)[:width-1]) + "…"
}

// wrap breaks a text into lines of at most width columns, between words, or
// after a hyphen or slash where a word alone is too long.
func wrap(s string, width int) []string {
	var lines []string
	current := ""
	flush := func() {
		if current != "" {
			lines = append(lines, current)
			current = ""
		}
	}
	for _, word := range strings.Fields(s) {
		for utf8.RuneCountInString(word) > width {
			flush()
			r := []rune(word)
			cut := width
			if at := strings.LastIndexAny(string(r[:width]), "-/."); at > 0 {
				cut = utf8.RuneCountInString(string(r[:width])[:at+1])
			}
			lines = append(lines, string(r[:cut]))
			word = string(r[cut:])
		}
		if current != "" && utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) > width {
			flush()
		}
		if current != "" {
			current += " "
		}
		current += word
	}
	flush()
	return lines
}
