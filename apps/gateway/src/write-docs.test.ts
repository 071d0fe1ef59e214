import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { calls } from '@berth/contract/calls'
import { expect, test } from 'vitest'
import { openApiDocument } from './platform/http/openapi.ts'
import { madeDocuments } from './write-docs.ts'

const root = resolve(import.meta.dirname, '../../..')
const HOW_TO_FIX = 'Run `npm run docs -w @berth/gateway` and commit what it writes.'

test.each([...madeDocuments()])('[R7.9] %s is what the code says', (path, text) => {
  expect(readFileSync(resolve(root, path), 'utf8') === text, HOW_TO_FIX).toBe(true)
})

test('[R7.9] every call is in the published document, with what it takes and gives', () => {
  const { paths } = openApiDocument(calls) as { paths: Record<string, Record<string, Operation>> }
  for (const call of calls) {
    const operation = paths[`/gateway${call.path}`]?.[call.method.toLowerCase()]
    expect(operation?.operationId, call.operation).toBe(call.operation)
    expect(operation?.requestBody !== undefined, `body of ${call.operation}`).toBe(
      call.body !== null || call.bytes || call.raw !== null,
    )
    const inPath = operation?.parameters.filter(one => one.in === 'path').map(one => one.name) ?? []
    expect(inPath, `path of ${call.operation}`).toEqual(
      [...call.path.matchAll(/\{(\w+)\}/g)].map(match => match[1]),
    )
    expect(operation?.security[0], call.operation).toEqual(call.audience === 'guest' ? {} : { token: [] })
  }
})

interface Operation {
  operationId: string
  requestBody?: object
  parameters: { in: string; name: string }[]
  security: object[]
}
