// A server made with the SDK for TypeScript: schemas of zod have patterns that look ahead.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

console.log('zod server is starting')
const server = new McpServer({ name: 'zod', version: '1' })
const tool = (name, inputSchema) =>
  server.registerTool(name, { description: name, inputSchema }, async (given) => ({
    content: [{ type: 'text', text: `${name} ${JSON.stringify(given)}` }],
  }))
tool('invite', { mail: z.email() })
tool('plan', { at: z.iso.datetime(), takes: z.iso.duration() })
tool('mark', { mark: z.emoji(), id: z.uuid(), net: z.cidrv6() })
server.registerTool('measure', { description: 'measure', inputSchema: {}, outputSchema: { n: z.number() } }, async () => ({
  content: [{ type: 'text', text: '{ "n": 5 }' }],
  structuredContent: { n: 5 },
}))
await server.connect(new StdioServerTransport())
