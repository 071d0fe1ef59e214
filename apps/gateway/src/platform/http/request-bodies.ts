import type { FastifyInstance } from 'fastify'
import { ApiError } from './api-error.ts'
import { fieldPath } from './field-errors.ts'
import { faultOf, type JsonFault } from './json-scan.ts'

/** A raw call reads its body by itself: it comes as JSON, or in parts that hold files. */
export function acceptRawBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  const types = ['application/json', 'multipart/form-data']
  scope.addContentTypeParser(types, { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

/** The media type of bodies that are bytes. */
const BYTES = 'application/octet-stream'

/**
 * Bodies are JSON, or a form where the call takes one; an empty one is none. Neither names a field twice. Where a call
 * takes bytes, they are left unread for it.
 */
export function acceptBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = body as string
    if (request.routeOptions.config.call?.bytes) return done(new ApiError('unsupported_media_type'))
    if (text.length === 0) return done(null, undefined)
    const fault = faultOf(text)
    if (fault) return done(errorOf(fault))
    parse(request, text, done)
  })
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (request, body, done) => {
      if (!request.routeOptions.config.call?.form) return done(new ApiError('unsupported_media_type'))
      const fields = new Map<string, string>()
      for (const [key, value] of new URLSearchParams(body as string)) {
        if (fields.has(key)) return done(errorOf({ kind: 'duplicate_key', key }))
        fields.set(key, value)
      }
      done(null, Object.fromEntries(fields))
    },
  )
  app.addContentTypeParser(BYTES, (request, _payload, done) => {
    if (!request.routeOptions.config.call?.bytes) return done(new ApiError('unsupported_media_type'))
    done(null, undefined)
  })
}

function errorOf(fault: JsonFault): ApiError {
  if (fault.kind === 'overdone') {
    return new ApiError('validation_failed', { fields: [{ path: '', rule: 'too_large' }] })
  }
  return new ApiError('duplicate_key', { fields: [{ path: fieldPath('', fault.key), rule: 'duplicate' }] })
}
