import { Button, Checkbox, Modal } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { bytesText } from '../../../ui/bytes.ts'
import { isCovered } from '../../../ui/covering.ts'
import classes from './Files.module.css'
import type { InTheWay, Upload } from './uploads.ts'

interface ConflictDialogProps {
  /** Uploads that something stands in the way of, the next one first. */
  asking: readonly Upload[]
  onAnswer: (how: InTheWay, ids: readonly number[]) => void
}

/** Asks what is to become of files whose names are taken: one after the other, or all at once. */
export function ConflictDialog({ asking, onAnswer }: ConflictDialogProps) {
  const { t } = useTranslation(['files', 'common'])
  const [forAll, setForAll] = useState(false)
  const [first] = asking
  const answer = (how: InTheWay) => {
    onAnswer(
      how,
      (forAll ? asking : asking.slice(0, 1)).map(({ id }) => id),
    )
    setForAll(false)
  }
  return (
    <Modal
      opened={first !== undefined}
      onClose={() => isCovered() || answer('skip')}
      title={t('conflict.title')}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={480}
    >
      {first && (
        <>
          <p className={classes.said}>
            <bdi className="mono">{first.path}</bdi>
          </p>
          <p className={classes.hint}>{t('conflict.text', { size: bytesText(first.size) })}</p>
          {asking.length > 1 && (
            <Checkbox
              className={classes.all}
              label={t('conflict.all', { count: asking.length, number: asking.length })}
              checked={forAll}
              onChange={event => setForAll(event.currentTarget.checked)}
            />
          )}
          <div className={classes.buttons}>
            <Button variant="default" onClick={() => answer('skip')}>
              {t('conflict.skip')}
            </Button>
            <Button variant="default" onClick={() => answer('both')} data-autofocus>
              {t('conflict.both')}
            </Button>
            <Button color="bad" variant="filled" onClick={() => answer('replace')}>
              {t('conflict.replace')}
            </Button>
          </div>
        </>
      )}
    </Modal>
  )
}
