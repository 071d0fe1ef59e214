import { useTranslation } from 'react-i18next'
import { PageHeader } from '../../ui/PageHeader.tsx'

/** Not built yet. */
export function Page() {
  const { t } = useTranslation('common')
  return <PageHeader title={t('titles.instance-list')} />
}
