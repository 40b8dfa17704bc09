package report

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// The measures of the picture, in pixels.
const (
	svgColumns = 8 // in a row, at most
	svgGlyph   = 6.7
	svgBoxLow  = 110
	svgBoxHigh = 250
	svgBox     = 24 // height of a box
	svgBoxGap  = 8
	svgGapX    = 56 // between columns, room for the arrows
	svgGapY    = 40 // between rows of columns
	svgHead    = 40 // heading of a column, without what people are told of the step
	svgLine    = 14 // of what they are told
	svgLetter  = 5.9
	svgTold    = 150 // a column of which something is told is that wide
	svgLines   = 5   // of one text, at most
	svgMargin  = 24
	svgTitle   = 64
	// Above svgWhole components a column shows svgTop of its boxes and the number
	// of the others. Whole graphs are not readable beyond some hundreds of nodes.
	svgWhole = 600
	svgTop   = 12
)

// column is one step in the picture.
type column struct {
	step   plan.Step
	shown  []string
	folded int
	// above and gate are the lines of what people are told of the step; the first of
	// above are its title.
	above, gate []string
	titles      int
	x, y        float64
	width       float64
	// head is the height of the headings of its row.
	head float64
}

// boxes is where the boxes end.
func (c column) boxes() float64 {
	n := len(c.shown)
	if n == 0 || c.folded > 0 {
		n++
	}
	return c.head + float64(n)*(svgBox+svgBoxGap)
}

func (c column) height() float64 { return c.boxes() + float64(len(c.gate))*svgLine }

// tell breaks what people are told of a step into lines.
func (c *column) tell() {
	about := c.step.About
	if about.Title+about.Purpose+about.Gate != "" {
		c.width = max(c.width, svgTold)
	}
	lines := func(text string, glyph float64) []string {
		all := wrap(text, int(c.width/glyph))
		if len(all) > svgLines {
			all = append(all[:svgLines-1:svgLines-1], pad(all[svgLines-1]+" …", int(c.width/glyph)))
		}
		return all
	}
	c.above = append(lines(about.Title, svgGlyph), lines(about.Purpose, svgLetter)...)
	c.titles = len(lines(about.Title, svgGlyph))
	if about.Gate != "" {
		c.gate = lines("⇒ "+about.Gate, svgLetter)
	}
}

// drawing is a picture of a plan in the making.
type drawing struct {
	plan    *plan.Plan
	content plan.Drawing
	columns []column
	at      map[string]int // component to column
	top     map[string]float64
	width   float64
	height  float64
}

// PlanSVG draws the ladder: a column per step, a box per component, an arrow from
// a provider to what requires it, the critical path thick, and what the order
// contradicts red. Columns wrap into rows. Edges that a longer chain implies are
// left out. Every box tells in its tooltip what it requires.
func PlanSVG(w io.Writer, p *plan.Plan) error {
	var b strings.Builder
	writeSVG(&b, p)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeSVG(b *strings.Builder, p *plan.Plan) {
	d := &drawing{plan: p, content: p.Drawing(), at: map[string]int{}, top: map[string]float64{}}
	d.fill()
	d.lay()
	title := "Ladder of " + p.Environment
	about := fmt.Sprintf("%s in %s; expected time %s, critical path %s", finding.Count(len(p.Order), "component"), stepsOf(p),
		Clock(p.Makespan), Clock(p.CriticalPath.Duration))
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-labelledby="ladder-title ladder-about">`+"\n",
		d.width, d.height, d.width, d.height)
	fmt.Fprintf(b, "<title id=\"ladder-title\">%s</title>\n<desc id=\"ladder-about\">%s: %s</desc>\n", svgText(title), svgText(about), svgText(strings.Join(p.CriticalPath.Components, ", ")))
	b.WriteString(svgStyle)
	fmt.Fprintf(b, `<rect class="page" width="%.0f" height="%.0f"/>`+"\n", d.width, d.height)
	fmt.Fprintf(b, `<text class="title" x="%d" y="30">%s</text><text class="about" x="%d" y="50">%s</text>`+"\n", svgMargin, svgText(title), svgMargin, svgText(about))
	for _, a := range d.content.Arrows {
		if !a.Against && !a.Critical {
			d.arrow(b, a)
		}
	}
	for _, c := range d.columns {
		d.drawTexts(b, c)
	}
	for _, a := range d.content.Arrows {
		if a.Against || a.Critical {
			d.arrow(b, a)
		}
	}
	for _, c := range d.columns { // last: an arrow strikes no name through
		d.drawBoxes(b, c)
	}
	b.WriteString("</svg>\n")
}

// svgStyle follows the reader's choice of light or dark.
const svgStyle = `<style>
.page{fill:#fff}.title{font:600 18px sans-serif;fill:#1b1f24}.about{font:12px sans-serif;fill:#57606a}
.step{font:600 13px sans-serif;fill:#1b1f24}.limit{font:11px sans-serif;fill:#57606a}
.box{fill:#f6f8fa;stroke:#8c959f}.name{font:11px ui-monospace,monospace;fill:#1b1f24}
.critical .box{stroke:#0550ae;stroke-width:2.5;fill:#ddf4ff}.more,.gate{font:italic 11px sans-serif;fill:#57606a}.small{font-size:12px}
.step,.limit,.more,.gate{paint-order:stroke;stroke:#fff;stroke-width:3;stroke-linejoin:round}
.edge{fill:none;stroke:#8c959f;stroke-width:1;opacity:.45}.soft{stroke-dasharray:4 3}
.edge.way{stroke:#0550ae;stroke-width:2.5;stroke-linejoin:round;opacity:1}.edge.against{stroke:#cf222e;stroke-width:2.5;opacity:1}
@media (prefers-color-scheme:dark){.page{fill:#0d1117}.title,.step,.name{fill:#e6edf3}.about,.limit,.more,.gate{fill:#9198a1}.step,.limit,.more,.gate{stroke:#0d1117}
.box{fill:#161b22;stroke:#6e7681}.critical .box{fill:#0c2d6b;stroke:#58a6ff}.edge{stroke:#6e7681}.edge.way{stroke:#58a6ff}.edge.against{stroke:#ff7b72}}
</style>
`

// fill decides what every column shows.
func (d *drawing) fill() {
	fold := len(d.plan.Order) > svgWhole
	matters := map[string]int{} // arrows at a component, those against the order first
	for _, a := range d.content.Arrows {
		weight := 1
		if a.Against {
			weight = 1000
		}
		matters[a.Provider] += weight
		matters[a.Consumer] += weight
	}
	for _, s := range d.plan.Steps {
		c := column{step: s, shown: s.Components}
		if fold && len(s.Components) > svgTop {
			sorted := slices.Clone(s.Components)
			slices.SortStableFunc(sorted, func(a, b string) int {
				rank := func(name string) int {
					if d.content.Critical[name] {
						return 1 << 30
					}
					return matters[name]
				}
				return rank(b) - rank(a)
			})
			c.folded = len(sorted) - svgTop
			c.shown = sorted[:svgTop]
		}
		longest := 0
		for _, name := range c.shown {
			longest = max(longest, utf8.RuneCountInString(boxName(name, d.plan.Only)))
		}
		c.width = min(max(float64(longest)*svgGlyph+16, svgBoxLow), svgBoxHigh)
		c.tell()
		d.columns = append(d.columns, c)
	}
}

// lay places the columns in rows and the boxes in columns. Inside a column a box
// stands near what it requires, so that arrows cross less.
func (d *drawing) lay() {
	y := float64(svgTitle)
	for from := 0; from < len(d.columns); {
		to := d.rowEnd(from)
		x, head, tallest := float64(svgMargin), 0.0, 0.0
		for _, c := range d.columns[from:to] {
			head = max(head, svgHead+float64(len(c.above))*svgLine)
		}
		for i := from; i < to; i++ {
			c := &d.columns[i]
			c.x, c.y, c.head = x, y, head
			d.sort(c)
			for k, name := range c.shown {
				d.at[name] = i
				d.top[name] = y + head + float64(k)*(svgBox+svgBoxGap)
			}
			x += c.width + svgGapX
			tallest = max(tallest, c.height())
		}
		d.width = max(d.width, x-svgGapX+svgMargin*2)
		y += tallest + svgGapY
		from = to
	}
	d.width = max(d.width, 420)
	d.height = y - svgGapY + svgMargin
}

// rowEnd is the column that begins the next row: a band that does not fit any more
// does.
func (d *drawing) rowEnd(from int) int {
	for i := from + 1; i < len(d.columns); i++ {
		if inRow := i - from; inRow == svgColumns || d.band(i) != d.band(i-1) && inRow+d.bandSize(i) > svgColumns {
			return i
		}
	}
	return len(d.columns)
}

// band is the hundred of the phases of a column, -1 for one without phases.
func (d *drawing) band(i int) int {
	if phases := d.columns[i].step.Phases; len(phases) > 0 {
		return int(phases[0]) / 100
	}
	return -1
}

// bandSize counts the columns of a band from its first one on.
func (d *drawing) bandSize(i int) int {
	n := 0
	for i+n < len(d.columns) && d.band(i+n) == d.band(i) {
		n++
	}
	return n
}

// sort orders the boxes of a column by the mean height of what they require,
// those without any last.
func (d *drawing) sort(c *column) {
	sum, n := map[string]float64{}, map[string]int{}
	for _, a := range d.content.Arrows {
		if top, ok := d.top[a.Provider]; ok {
			sum[a.Consumer] += top - d.columns[d.at[a.Provider]].y
			n[a.Consumer]++
		}
	}
	mean := func(name string) float64 {
		if n[name] == 0 {
			return 1e9
		}
		return sum[name] / float64(n[name])
	}
	c.shown = slices.Clone(c.shown)
	slices.SortStableFunc(c.shown, func(a, b string) int {
		switch x, y := mean(a), mean(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		default:
			return strings.Compare(a, b)
		}
	})
}

// drawTexts draws what stands above and below the boxes of a column.
func (d *drawing) drawTexts(b *strings.Builder, c column) {
	none := "" // beside the name: an arrow may run where the boxes would be
	if len(c.shown) == 0 {
		none = ` <tspan class="more">` + nothing + `</tspan>`
	}
	fmt.Fprintf(b, `<text class="step" x="%.0f" y="%.0f">%s%s</text>`, c.x, c.y+16, svgText(stepName(c.step)), none)
	y := c.y + 31
	if limit := stepLimit(c.step); limit != "" {
		fmt.Fprintf(b, `<text class="limit" x="%.0f" y="%.0f">%s</text>`, c.x, y, svgText(limit))
		y += svgLine
	}
	for i, l := range c.above {
		class := "limit"
		if i < c.titles {
			class = "title small"
		}
		fmt.Fprintf(b, `<text class="%s" x="%.0f" y="%.0f">%s</text>`, class, c.x, y+float64(i)*svgLine, svgText(l))
	}
	for i, l := range c.gate {
		fmt.Fprintf(b, `<text class="gate" x="%.0f" y="%.0f">%s</text>`, c.x, c.y+c.boxes()+float64(i)*svgLine+6, svgText(l))
	}
	if c.folded > 0 {
		fmt.Fprintf(b, `<text class="more" x="%.0f" y="%.0f">and %d more</text>`, c.x+8, c.y+c.head+float64(len(c.shown))*(svgBox+svgBoxGap)+16, c.folded)
	}
	b.WriteByte('\n')
}

func (d *drawing) drawBoxes(b *strings.Builder, c column) {
	for _, name := range c.shown {
		class := ""
		if d.content.Critical[name] {
			class = ` class="critical"`
		}
		y := d.top[name]
		fmt.Fprintf(b, `<g%s><title>%s</title><rect class="box" x="%.0f" y="%.0f" width="%.0f" height="%d" rx="5"/>`, class, svgText(d.tooltip(name)), c.x, y, c.width, svgBox)
		fmt.Fprintf(b, `<text class="name" x="%.0f" y="%.0f">%s</text></g>`+"\n", c.x+8, y+16, svgText(pad(boxName(name, d.plan.Only), int((c.width-14)/svgGlyph))))
	}
}

// tooltip says of a component what it requires and how much hangs on it.
func (d *drawing) tooltip(name string) string {
	var requires []string
	for _, a := range d.content.Arrows {
		if a.Consumer == name {
			requires = append(requires, a.Provider+" ("+a.Reason+")")
		}
	}
	text := name
	if len(requires) > 0 {
		text += "\nrequires " + strings.Join(requires, ", ")
	}
	if n := len(d.plan.BlastRadius(name)); n > 0 {
		text += fmt.Sprintf("\n%s cannot become Healthy without it", finding.Count(n, "component"))
	}
	return text
}

// arrow draws one edge between two boxes that are shown.
func (d *drawing) arrow(b *strings.Builder, a plan.Arrow) {
	from, shown := d.top[a.Provider]
	to, also := d.top[a.Consumer]
	if !shown || !also {
		return
	}
	p, c := d.columns[d.at[a.Provider]], d.columns[d.at[a.Consumer]]
	class := "edge"
	switch {
	case a.Against:
		class += " against"
	case a.Critical:
		class += " way"
	}
	if a.Soft {
		class += " soft"
	}
	y1, y2 := from+svgBox/2, to+svgBox/2
	var path string
	switch {
	case p.y == c.y && c.x > p.x: // to the right
		x1, x2 := p.x+p.width, c.x
		bend := max((x2-x1)/2, svgGapX/2)
		path = fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)
	case p.y == c.y: // inside a column, or back
		x1, x2 := p.x+p.width, c.x+c.width
		out := max(x1, x2) + svgGapX*0.6
		path = fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x1, y1, out, y1, out, y2, x2, y2)
	case a.Critical: // through the lane above the row of the consumer
		x1, x2, lane := p.x+p.width, c.x, c.y-svgGapY*0.35
		path = fmt.Sprintf("M%.0f %.0fh%.0fV%.0fH%.0fV%.0fh%.0f", x1, y1, svgMargin*0.6, lane, x2-svgMargin*0.6, y2, svgMargin*0.6)
	default: // to another row: out at the right, in at the left
		x1, x2 := p.x+p.width, c.x
		path = fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x1, y1, x1+svgGapX, y1, x2-svgGapX, y2, x2, y2)
	}
	fmt.Fprintf(b, `<path class="%s" d="%s"><title>%s</title></path>`+"\n", class, path,
		svgText(a.Consumer+" requires "+a.Provider+": "+a.Reason))
}

// svgText escapes a text; characters that XML does not allow are left out.
func svgText(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "")))
}
