import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { HOME_PATH } from '../session/redirect-target.ts'

/** An address that leads nowhere. */
export function UnknownPage() {
  const { t } = useTranslation('common')
  return (
    <EmptyState
      title={t('unknown_page.title')}
      hint={t('unknown_page.hint')}
      action={
        <Button component={Link} to={HOME_PATH} variant="default">
          {t('unknown_page.action')}
        </Button>
      }
    />
  )
}
