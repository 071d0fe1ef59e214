import { listFiles } from '@berth/contract/files'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { useTranslation } from 'react-i18next'
import { reread } from '../../../api/cache-lifecycle.ts'
import { createUploads, type Upload, type Uploads } from './uploads.ts'

/** What is done is shown in its folder, but a thousand files are no thousand looks at it. */
const LOOK_MS = 700

/** The uploads of an instance, which end with the component. */
export function useUploads(instanceId: string): { uploads: Uploads; list: readonly Upload[] } {
  const { t } = useTranslation('files')
  const [uploads] = useState(() => {
    let isDue = false
    const look = () => {
      isDue = false
      void reread([listFiles.operation])
    }
    return createUploads({
      instanceId,
      unreadable: () => t('upload.unreadable'),
      onDone: () => {
        if (isDue) return
        isDue = true
        setTimeout(look, LOOK_MS)
      },
    })
  })
  const list = useSyncExternalStore(uploads.subscribe, uploads.list)
  useEffect(() => () => uploads.stop(), [uploads])
  return { uploads, list }
}
