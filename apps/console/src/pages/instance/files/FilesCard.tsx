import { uploadPiece } from '@berth/contract/files'
import type { Instance } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useOffFor } from '../../../app/session/use-off-for.ts'
import { Card } from '../../../ui/Card.tsx'
import { FileBrowser } from './FileBrowser.tsx'
import classes from './Files.module.css'

/** The files of an instance: to look into it, and to move files by drag and drop (B19). */
export function FilesCard({ instance }: { instance: Instance }) {
  const { t } = useTranslation('files')
  // Whoever may look at files may send some.
  const off = useOffFor(uploadPiece)
  // To look at files is to use the instance, so nobody does by opening its page alone.
  const [isOpen, setOpen] = useState(false)
  const why = off ?? closedWhy()
  if (why === null && isOpen) return <FileBrowser instance={instance} />
  return (
    <Card
      title={t('title')}
      aside={
        why === null && (
          <Button variant="default" size="compact-sm" onClick={() => setOpen(true)}>
            {t('open')}
          </Button>
        )
      }
    >
      <p className={classes.hint}>{why ?? t('hint')}</p>
    </Card>
  )

  function closedWhy(): string | null {
    return instance.status === 'running' ? null : t('when_running')
  }
}
