import { getVolumeS3, makeS3Key, revokeS3Key, rotateS3Key } from '@berth/contract/volume-s3'
import { type Route, route } from '../../platform/http/handler.ts'
import type { S3 } from './s3.ts'

/**
 * The calls on S3 access to volumes.
 * @param s3 The domain.
 */
export function s3Routes(s3: S3): Route[] {
  return [
    route(getVolumeS3, async ({ caller, params }) => s3.describe(caller.userId, params.id)),
    route(makeS3Key, async ({ caller, params, body }) => s3.make(caller.userId, params.id, body.access)),
    route(rotateS3Key, async ({ caller, params }) =>
      s3.rotate(caller.userId, params.id, params.access_key_id),
    ),
    route(revokeS3Key, async ({ caller, params }) => {
      await s3.revoke(caller.userId, params.id, params.access_key_id)
      return null
    }),
  ]
}
