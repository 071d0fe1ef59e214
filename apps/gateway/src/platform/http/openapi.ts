import { isDeepStrictEqual } from 'node:util'
import type { Call } from '@berth/contract/call'
import { GATEWAY_PREFIX, IDEMPOTENCY_KEY_HEADER, LANGUAGE_HEADER } from '@berth/contract/envelope'
import { ERRORS } from '@berth/contract/errors'
import { IDEMPOTENCY_KEY_CHARS_MAX, IDEMPOTENCY_KEY_CHARS_MIN, LANGUAGES } from '@berth/contract/limits'
import * as z from 'zod'
import { REPLAYED_HEADER } from './call-handler.ts'

type Json = Record<string, unknown>

/**
 * The published document (R7.9), made from the calls themselves.
 * @param calls Every call, in the order of the document.
 * @returns An OpenAPI 3.1 document.
 */
export function openApiDocument(calls: readonly Call[]): Json {
  const paths: Record<string, Json> = {}
  const entities = new Entities()
  for (const call of calls) {
    const path = GATEWAY_PREFIX + call.path
    paths[path] = { ...paths[path], [call.method.toLowerCase()]: operation(call, entities) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Berth',
      version: '1',
      description:
        'GPU instances, and the money that they cost. Amounts are whole cents; those that end in `_micro` are ' +
        'millionths of the currency unit, as decimal strings. Answers come in an envelope: match `status` and ' +
        '`code`, show `msg`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(calls.map(tagOf))].map(name => ({ name })),
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: { Error: errorSchema(), ...entities.named() },
    },
  }
}

/**
 * The entities of the contract by their names (`z.globalRegistry`), so that a client that is generated from
 * the document has names for them too. Where one is asked for in another form than it is answered, what is asked for
 * has `Input` at its end.
 */
class Entities {
  readonly #named = new Map<string, Json>()

  /** A schema that names its entities. What answers hold is to be asked for before what requests hold. */
  schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
    const { $defs = {}, ...rest } = jsonSchemaOf(schema, io) as { $defs?: Record<string, Json> }
    const names = new Map<string, string>()
    for (const [id, entity] of Object.entries($defs)) names.set(id, this.#nameFor(id, entity, io))
    for (const [id, entity] of Object.entries($defs)) {
      this.#named.set(names.get(id) ?? id, renamed(entity, names))
    }
    return renamed(rest, names)
  }

  named(): Record<string, Json> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #nameFor(id: string, entity: Json, io: 'input' | 'output'): string {
    const known = this.#named.get(id)
    const isSame = known === undefined || isDeepStrictEqual(known, renamed(entity, new Map()))
    return isSame || io === 'output' ? id : `${id}Input`
  }
}

/** A copy whose references lead to the document's components, under the names that they have there. */
function renamed<Part>(part: Part, names: ReadonlyMap<string, string>): Part {
  return JSON.parse(JSON.stringify(part), (key, value) => {
    if (key !== '$ref' || typeof value !== 'string') return value
    const id = value.replace('#/$defs/', '')
    return `#/components/schemas/${names.get(id) ?? id}`
  })
}

function operation(call: Call, entities: Entities): Json {
  const data = entities.schemaOf(call.data, 'output')
  return {
    operationId: call.operation,
    tags: [tagOf(call)],
    summary: call.summary,
    security: call.audience === 'guest' ? [{}, { token: [] }] : [{ token: [] }],
    parameters: parameters(call),
    ...(call.bytes && {
      requestBody: {
        required: true,
        content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
      },
    }),
    ...(call.raw && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: entities.schemaOf(call.raw, 'input') } },
      },
    }),
    ...(call.body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(
          mediaTypesOf(call).map(type => [
            type,
            { schema: entities.schemaOf(call.body as z.ZodType, 'input') },
          ]),
        ),
      },
    }),
    responses: {
      200: {
        description: WORKED[call.raw ? 'raw' : call.streams ? 'streams' : 'once'],
        ...(call.spends && { headers: { [REPLAYED_HEADER]: REPLAYED } }),
        content: contentOf(call, data),
      },
      default: {
        description: 'It did not work; `code` says why.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
    'x-audience': call.audience,
    'x-proof': call.proof,
    ...((call.body || call.bytes || call.raw) && { 'x-body-bytes-max': call.bodyBytesMax }),
  }
}

const WORKED = {
  once: 'It worked.',
  streams: 'It worked. Each event is a line `data: ` with this as JSON.',
  raw: 'It worked; this is what the model says, in no envelope. Where a stream was asked for, it comes in events.',
}

/** What a call answers, by the types that it may have. */
function contentOf(call: Call, data: Json): Json {
  if (call.raw) return { 'application/json': { schema: data }, 'text/event-stream': { schema: data } }
  const mediaType = call.file ?? (call.streams ? 'text/event-stream' : null)
  return mediaType
    ? { [mediaType]: { schema: data } }
    : { 'application/json': { schema: okSchema(call, data) } }
}

function mediaTypesOf(call: Call): string[] {
  return call.form ? ['application/x-www-form-urlencoded', 'application/json'] : ['application/json']
}

const REPLAYED: Json = {
  description: 'Set to `true` where this is the answer that an earlier request with the same key got.',
  schema: { type: 'string' },
}

function parameters(call: Call): Json[] {
  const headers: Json[] = [
    {
      in: 'header',
      name: LANGUAGE_HEADER,
      description: `Language of messages: ${LANGUAGES.join(', ')}.`,
      schema: { type: 'string', default: LANGUAGES[0] },
    },
  ]
  if (call.spends) {
    headers.push({
      in: 'header',
      name: IDEMPOTENCY_KEY_HEADER,
      required: true,
      description:
        'Chosen by the caller, one for each thing to be done. The same key again gives the same answer and does ' +
        'nothing twice.',
      schema: {
        type: 'string',
        minLength: IDEMPOTENCY_KEY_CHARS_MIN,
        maxLength: IDEMPOTENCY_KEY_CHARS_MAX,
      },
    })
  }
  return [...fieldsOf(call.params, 'path'), ...fieldsOf(call.query, 'query'), ...headers]
}

/** The fields of an object schema as parameters. */
function fieldsOf(schema: z.ZodType | null, place: 'path' | 'query'): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = jsonSchemaOf(schema, 'input') as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    in: place,
    name,
    required: place === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    schema: rest,
  }))
}

function okSchema(call: Call, data: Json): Json {
  const constant = (value: string): Json => ({ type: 'string', const: value })
  if (call.envelope === 'berth') {
    return object({ status: constant('ok'), msg: { type: 'string' }, data })
  }
  const text = { type: 'string' }
  return object({
    status: constant('ok'),
    msg: text,
    sub: text,
    name: text,
    data,
    data2: { type: 'null' },
    data3: { type: 'null' },
  })
}

function errorSchema(): Json {
  const text = { type: 'string' }
  return {
    type: 'object',
    required: ['status', 'msg', 'code', 'data', 'request_id'],
    properties: {
      status: { type: 'string', const: 'error' },
      msg: { ...text, description: 'In the language that was asked for.' },
      code: {
        ...text,
        // Those with status 0 are the console's own words for calls that never came here.
        enum: Object.entries(ERRORS)
          .filter(([, { http }]) => http !== 0)
          .map(([code]) => code),
      },
      data: { type: 'null' },
      fields: {
        type: 'array',
        description: 'Fields that are at fault, if any are.',
        items: object({ path: text, rule: text, msg: text }),
      },
      request_id: text,
    },
  }
}

function object(properties: Json): Json {
  return { type: 'object', properties, required: Object.keys(properties) }
}

function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
  })
  return rest
}

function tagOf(call: Call): string {
  return call.operation.split('.')[0] ?? call.operation
}
