import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, timestamp } from './fields.ts'
import { instanceId } from './instances.ts'
import {
  DEPLOY_BODY_BYTES_MAX,
  FILE_PATH_CHARS_MAX,
  FILE_PIECE_BYTES_MAX,
  LONG_TEXT_BODY_BYTES_MAX,
  UPLOAD_PLAN_FILES_MAX,
} from './limits.ts'

/**
 * Whether a text names a file inside a machine: from the root down, each step by its own name. What leads upwards is
 * refused, so that a path says where it leads.
 */
export function isFilePath(path: string): boolean {
  if (!path.startsWith('/') || path.includes('\0')) return false
  return (
    path === '/' ||
    path
      .slice(1)
      .split('/')
      .every(name => name !== '' && name !== '.' && name !== '..')
  )
}

/** A file or folder inside a machine. Whatever else its names hold, they are names. */
export const filePath = z
  .string(by('required'))
  .min(1, by('required'))
  .max(FILE_PATH_CHARS_MAX, by('too_long'))
  .refine(isFilePath, by('file_path'))

const byteCount = z.coerce
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(0, by('too_small'))
  .max(Number.MAX_SAFE_INTEGER, by('too_large'))

/** When a file was last written to, in whole seconds since 1970. */
const writtenAt = z.coerce
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(0, by('too_small'))
  .max(253_402_300_799, by('too_large'))

export const fileEntry = z.object({
  name: z.string(),
  /** What it is, or what it leads to where it is a link; `other` also for a link that leads nowhere. */
  kind: z.enum(['file', 'folder', 'other']),
  is_link: z.boolean(),
  /** Bytes. */
  size: z.number().int(),
  modified_at: timestamp.nullable(),
  /** The rights, as `chmod` takes them: `0644`. */
  mode: z.string(),
  /** False where its name is no UTF-8 text, so that nothing can be asked about it from here. */
  can_be_named: z.boolean(),
})
z.globalRegistry.add(fileEntry, { id: 'FileEntry' })
export type FileEntry = z.infer<typeof fileEntry>

export const fileListing = z.object({
  /** Where this is: the folder that was asked for, or that of the user of the machine. */
  path: z.string(),
  /** In the order of their names' bytes. */
  entries: z.array(fileEntry),
  /** What to send as `from` to go on; null at the end. */
  next: z.number().int().nullable(),
})
z.globalRegistry.add(fileListing, { id: 'FileListing' })
export type FileListing = z.infer<typeof fileListing>

const byId = z.object({ id: instanceId })
/** What machines hold changes by itself, so nobody keeps it. */
const NOT_KEPT = { because: 'Files of machines change by themselves: whoever shows a folder reads it anew.' }

export const listFiles = defineCall({
  operation: 'file.list',
  method: 'GET',
  path: '/api/instance/{id}/files',
  summary: 'What a folder of a running instance holds, some hundreds at a time.',
  audience: 'verified',
  timeout: 'long',
  params: byId,
  query: z.object({
    /** Left out: the home of the machine's user. */
    path: filePath.optional(),
    from: byteCount.default(0),
  }),
  data: fileListing,
})

const uploadFile = z.object(
  {
    path: filePath,
    size: byteCount,
    modified_at: writtenAt,
  },
  by('wrong_type'),
)

/** What a machine has of a file that is to be uploaded to it. */
export const uploadState = z.object({
  path: z.string(),
  /** What stands there now; null for nothing. */
  existing: fileEntry.nullable(),
  /** Whether what stands there has this size and time already. */
  is_same: z.boolean(),
  /** How much of it came before, in bytes: go on from there. */
  have_bytes: z.number().int(),
})
z.globalRegistry.add(uploadState, { id: 'UploadState' })
export type UploadState = z.infer<typeof uploadState>

export const planUpload = defineCall({
  operation: 'file.plan-upload',
  method: 'POST',
  path: '/api/instance/{id}/files/plan-upload',
  summary:
    'What a running instance has of files that are to be uploaded to it, and what stands in their way.',
  audience: 'verified',
  timeout: 'download',
  audit: { target: ['params.id'] },
  stales: NOT_KEPT,
  bodyBytesMax: DEPLOY_BODY_BYTES_MAX,
  params: byId,
  body: z.object({
    files: z
      .array(uploadFile, by('required'))
      .min(1, by('required'))
      .max(UPLOAD_PLAN_FILES_MAX, by('too_long')),
  }),
  data: z.object({ files: z.array(uploadState) }),
})

export const uploadPiece = defineCall({
  operation: 'file.upload',
  method: 'PUT',
  path: '/api/instance/{id}/files/content',
  summary: 'Uploads a piece of a file; with its last piece the file takes its name.',
  audience: 'verified',
  timeout: 'download',
  audit: { because: 'Planning an upload has the entry: a file comes in many pieces.' },
  stales: NOT_KEPT,
  bytes: true,
  bodyBytesMax: FILE_PIECE_BYTES_MAX,
  params: byId,
  query: uploadFile.extend({
    /** Where in the file the piece begins: what came before. 0 begins anew. */
    offset: byteCount,
    /** How long the piece is. */
    length: byteCount.max(FILE_PIECE_BYTES_MAX, by('too_large')),
    /** Whether what stands there gives way. */
    replace: z.stringbool(by('not_allowed')).default(false),
    /** SHA-256 of the piece: what came into the machine must have it. Left out, its length alone is looked at. */
    sha256: z
      .string(by('not_allowed'))
      .regex(/^[0-9a-f]{64}$/, by('not_allowed'))
      .optional(),
    /** Where in the file that begins which has the digest: before the piece, to look at what came earlier once more. */
    verify_from: byteCount.optional(),
  }),
  data: z.object({
    /** How much of the file the machine has now. */
    have_bytes: z.number().int(),
    /** Whether the file is whole, and has its name. */
    is_done: z.boolean(),
  }),
})

/** Where a browser saves something from. */
export const ticketedDownload = z.object({
  /** On this origin, without a token, once; for a file it takes `Range`. */
  path: z.string(),
  name: z.string(),
  expires_at: timestamp,
})
z.globalRegistry.add(ticketedDownload, { id: 'TicketedDownload' })

export const startFileDownload = defineCall({
  operation: 'file.download',
  method: 'POST',
  path: '/api/instance/{id}/files/download',
  summary: 'A single-use address for a file of a running instance, or for a folder as a tar archive.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: { because: 'It only reads, and what it gives opens once.' },
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  params: byId,
  body: z.object({ path: filePath }),
  data: ticketedDownload,
})

const changed = z.object({ path: z.string() })

export const makeFolder = defineCall({
  operation: 'file.make-folder',
  method: 'POST',
  path: '/api/instance/{id}/files/make-folder',
  summary: 'Makes a folder in a running instance.',
  audience: 'verified',
  timeout: 'long',
  audit: { target: ['params.id'] },
  stales: NOT_KEPT,
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  params: byId,
  body: z.object({ path: filePath }),
  data: changed,
})

export const renameFile = defineCall({
  operation: 'file.rename',
  method: 'POST',
  path: '/api/instance/{id}/files/rename',
  summary: 'Gives a file or folder of a running instance another name or place; nothing gives way to it.',
  audience: 'verified',
  timeout: 'long',
  audit: { target: ['params.id'] },
  stales: NOT_KEPT,
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  params: byId,
  body: z.object({ path: filePath, to: filePath }),
  data: changed,
})

export const removeFile = defineCall({
  operation: 'file.remove',
  method: 'POST',
  path: '/api/instance/{id}/files/remove',
  summary: 'Removes a file of a running instance, or a folder, with all in it where that is said.',
  audience: 'verified',
  timeout: 'download',
  audit: { target: ['params.id'] },
  stales: NOT_KEPT,
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  params: byId,
  body: z.object({
    path: filePath,
    /** Whether a folder goes with all that it holds; else it must be empty. */
    with_content: z.boolean(by('wrong_type')).default(false),
  }),
  data: changed,
})

/** The calls on files of running instances. */
export const fileCalls = [
  listFiles,
  planUpload,
  uploadPiece,
  startFileDownload,
  makeFolder,
  renameFile,
  removeFile,
] as const
