import { Button } from '@mantine/core'
import { IconFileDownload } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { useSaving } from './use-saving.ts'

/** Saves the document of a transaction as PDF. */
export function SaveInvoiceButton({ id }: { id: string }) {
  const { t } = useTranslation('invoices')
  const { saving, save } = useSaving()
  return (
    <Button
      variant="default"
      size="xs"
      style={{ justifySelf: 'start' }}
      leftSection={<IconFileDownload size={14} />}
      loading={saving !== null}
      onClick={() => save(id)}
    >
      {t('save')}
    </Button>
  )
}
