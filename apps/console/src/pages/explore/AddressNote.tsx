import { Button } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import note from '../../ui/StaleNote.module.css'
import type { NotUnderstood } from './offer-filters.ts'

interface AddressNoteProps {
  strange: readonly NotUnderstood[]
  /** Takes them out of the address. */
  onClean: () => void
}

/** Says what of the page's address was left out. */
export function AddressNote({ strange, onClean }: AddressNoteProps) {
  const { t } = useTranslation('offers')
  const parts = strange.map(({ name, text }) => t('address.part', { name: t(`address.names.${name}`), text }))
  return (
    <div className={note.note} role="status">
      <IconAlertTriangle size={16} stroke={1.6} aria-hidden="true" />
      <span>{t('address.ignored', { parts: parts.join(t('address.and')) })}</span>
      <Button size="xs" variant="default" onClick={onClean}>
        {t('address.clean')}
      </Button>
    </div>
  )
}
