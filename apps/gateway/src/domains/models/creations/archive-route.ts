import { Readable } from 'node:stream'
import type { CallData } from '@berth/contract/call'
import {
  CREATION_ARCHIVES_PATH,
  CREATION_KINDS,
  type CreationKind,
  type creationArchive,
} from '@berth/contract/creations'
import { and, asc, eq } from 'drizzle-orm'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { dispositionOf } from '../../../platform/http/file-names.ts'
import type { RawRoute } from '../../../platform/http/raw-routes.ts'
import { isOpen } from '../../customers/customers.ts'
import type { FileAddresses } from './file-addresses.ts'
import { HARMLESS } from './file-route.ts'
import { endingOf } from './file-types.ts'
import type { KeptFiles } from './kept-files.ts'
import { creationFile, creationItem } from './tables.ts'
import { ZIP_BYTES_MAX, type ZipEntry, zipOf } from './zip-archive.ts'

const NAME_CHARS = 6

interface ArchiveDeps {
  db: Database
  files: Pick<KeptFiles, 'read'>
  addresses: Pick<FileAddresses, 'urlOf' | 'isGood'>
}

/** All pictures or films of a customer as one archive. */
export function createArchives({ db, files, addresses }: ArchiveDeps) {
  /** Each file once, the oldest first; what does not fit is left out. Of a customer who is kept out there are none. */
  async function entriesOf(userId: string, kind: CreationKind): Promise<ZipEntry[]> {
    const rows = await db
      .select({ item: creationItem, file: creationFile })
      .from(creationItem)
      .innerJoin(creationFile, eq(creationFile.id, creationItem.fileId))
      .where(and(eq(creationItem.userId, userId), eq(creationItem.kind, kind), isOpen(creationItem.userId)))
      .orderBy(asc(creationItem.createdAt), asc(creationItem.id))
    const seen = new Set<string>()
    let all = 0
    return rows.flatMap(({ item, file }) => {
      if (seen.has(file.id) || all + file.bytes > ZIP_BYTES_MAX) return []
      seen.add(file.id)
      all += file.bytes
      const day = item.createdAt.toISOString().slice(0, 10)
      const name = `${day}-${item.seed}-${item.id.slice(-NAME_CHARS)}.${endingOf(file.type)}`
      const read = () => files.read(file.id, 0, file.bytes - 1)
      return [{ name, at: item.createdAt, bytes: file.bytes, read }]
    })
  }

  const route: RawRoute = {
    methods: ['GET'],
    path: `${CREATION_ARCHIVES_PATH}/:place/:ticket`,
    bodyBytesMax: 1,
    async handle({ params: { place = '', ticket = '' } }) {
      const [userId = '', word = ''] = place.split('.')
      const kind = CREATION_KINDS.find(one => one === word)
      if (!kind || !addresses.isGood(place, ticket)) throw new ApiError('not_found')
      const entries = await entriesOf(userId, kind)
      if (entries.length === 0) throw new ApiError('not_found')
      return {
        status: 200,
        headers: {
          ...HARMLESS,
          'content-type': 'application/zip',
          'cache-control': 'no-store',
          'content-disposition': dispositionOf(`berth-${kind}s.zip`),
        },
        body: Readable.from(zipOf(entries), { objectMode: false }),
      }
    },
  }

  return {
    route,
    /** Where all of them are read, and what they come to; the address is null where there are none. */
    async archive(userId: string, kind: CreationKind): Promise<CallData<typeof creationArchive>> {
      const entries = await entriesOf(userId, kind)
      return {
        url: entries.length === 0 ? null : addresses.urlOf(`${userId}.${kind}`, CREATION_ARCHIVES_PATH),
        files: entries.length,
        bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
      }
    },
  }
}
