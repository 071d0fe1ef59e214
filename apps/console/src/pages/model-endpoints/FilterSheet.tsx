import { Button, Drawer } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import classes from './FilterSheet.module.css'
import { ModelFilters, type ModelFiltersProps } from './ModelFilters.tsx'
import { NO_FILTERS } from './search.ts'

interface FilterSheetProps extends ModelFiltersProps {
  /** Whether any filter is on. */
  isOn: boolean
  onClose: () => void
}

/** The filters on a phone, in a sheet from the foot; the rows change behind it. */
export function FilterSheet({ isOn, onClose, ...props }: FilterSheetProps) {
  const { t } = useTranslation(['models', 'common'])
  return (
    <Drawer
      opened
      onClose={onClose}
      position="bottom"
      size="85%"
      title={t('filters.label')}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
    >
      <ModelFilters {...props} />
      <div className={classes.buttons}>
        <Button variant="default" disabled={!isOn} onClick={() => props.filters.change(NO_FILTERS)}>
          {t('filters.clear')}
        </Button>
        <Button onClick={onClose}>{t('filters.show', { count: props.found.rows.length })}</Button>
      </div>
    </Drawer>
  )
}
