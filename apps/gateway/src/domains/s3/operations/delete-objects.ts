import { receiveText } from '../protocol/receive.ts'
import { headerOf, type Operation, quoted, type S3Request } from '../protocol/s3-request.ts'
import { deleteXml, readXml, writeXml, type XmlParts } from '../protocol/xml.ts'
import { S3Error } from '../s3-error.ts'
import { readObjectKey } from '../store/object-key.ts'
import { deleteObject, isObjectKey, seeObject } from '../store/objects.ts'

export const deleteOne: Operation = async request => {
  await remove(request, request.key, headerOf(request, 'if-match'))
  return { status: 204 }
}

/** Removes an object. What cannot be a file is not there. */
async function remove(request: S3Request, key: string, match: string | null): Promise<void> {
  if (!isObjectKey(key)) return
  const named = readObjectKey(key)
  if (match !== null && match !== '*') {
    const seen = await seeObject(request.volume, named)
    if (match.replace(/^"|"$/g, '') !== seen.etag) throw new S3Error('PreconditionFailed')
  }
  await deleteObject(request, named)
}

/** Deletes up to a thousand objects, each of which succeeds or fails by itself. */
export const deleteObjects: Operation = async request => {
  const { Delete } = readXml(await receiveText(request), deleteXml)
  const isQuiet = Delete.Quiet?.trim() === 'true'
  const deleted: XmlParts[] = []
  const failed: XmlParts[] = []
  for (const { Key, ETag, VersionId } of Delete.Object) {
    try {
      if (VersionId !== undefined && VersionId !== 'null') {
        throw new S3Error('NotImplemented', { message: 'Versions are not kept here.' })
      }
      await remove(request, Key, ETag === undefined ? null : quoted(ETag.replace(/^"|"$/g, '')))
      if (!isQuiet) deleted.push({ Key })
    } catch (error) {
      if (!(error instanceof S3Error)) throw error
      failed.push({ Key, Code: error.code, Message: error.message })
    }
  }
  return { xml: writeXml('DeleteResult', { Deleted: deleted, Error: failed }) }
}
