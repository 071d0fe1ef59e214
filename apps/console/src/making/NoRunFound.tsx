import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { EmptyState } from '../ui/EmptyState.tsx'

/** No run matches what is searched for. */
export function NoRunFound({ onShowAll }: { onShowAll: () => void }) {
  const { t } = useTranslation('making')
  return (
    <EmptyState
      title={t('runs.none_found')}
      action={
        <Button variant="default" onClick={onShowAll}>
          {t('runs.show_all')}
        </Button>
      }
    />
  )
}
