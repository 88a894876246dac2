export {LineageView as default} from "../lineage";
