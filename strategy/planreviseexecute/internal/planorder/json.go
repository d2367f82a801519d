package planorder

// Schema is the JSON Schema of a plan that a model submits.
const Schema = `{
	"type": "object",
	"properties": {"steps": {"type": "array", "minItems": 1, "description": "the steps, in order", "items": {"anyOf": [
		{"type": "string", "description": "the goal of the step"},
		{
			"type": "object",
			"properties": {
				"id": {"type": "string", "description": "a short name, unlike those of the other steps"},
				"goal": {"type": "string", "description": "what to achieve"},
				"depends_on": {"type": "array", "items": {"type": "string"}, "description": "ids of the steps whose results it needs"},
				"executor": {"type": "string", "description": "who carries it out; leave it out for the usual one"}
			},
			"required": ["goal"],
			"additionalProperties": false
		}
	]}}},
	"required": ["steps"],
	"additionalProperties": false
}`

// Memory is a [Plan] in the memory of a strategy. Unlike a Plan it refuses unknown fields of steps.
type Memory struct {
	Steps   []stepMemory `json:"steps,omitempty"`
	Planned int          `json:"planned,omitempty"`
	Unread  []string     `json:"unread,omitempty"`
}

// stepMemory is a Step without its lenient UnmarshalJSON.
type stepMemory Step

// Remember returns the memory of a plan.
func Remember(p Plan) Memory {
	m := Memory{Planned: p.Planned, Unread: p.Unread}
	for _, s := range p.Steps {
		m.Steps = append(m.Steps, stepMemory(s))
	}
	return m
}

// Plan is the reverse of [Remember].
func (m Memory) Plan() Plan {
	p := Plan{Planned: m.Planned, Unread: m.Unread}
	for _, s := range m.Steps {
		p.Steps = append(p.Steps, Step(s))
	}
	return p
}
