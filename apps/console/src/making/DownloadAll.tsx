import { type CreationKind, creationArchive } from '@berth/contract/creations'
import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { request } from '../api/client.ts'
import { told } from '../api/use-change.ts'

/** Saves all pictures or videos of the customer as one file. */
export function DownloadAll({ kind }: { kind: CreationKind }) {
  const { t } = useTranslation('making')
  const [busy, setBusy] = useState(false)
  const save = async () => {
    setBusy(true)
    try {
      const { url } = await request(creationArchive, { query: { kind } })
      if (url !== null) saveFrom(url)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button
      variant="default"
      loading={busy}
      leftSection={<IconDownload size={16} stroke={1.6} />}
      onClick={() => void save().catch(told)}
    >
      {t('runs.download_all')}
    </Button>
  )
}

function saveFrom(address: string): void {
  const link = document.createElement('a')
  link.href = address
  link.download = ''
  link.click()
}
